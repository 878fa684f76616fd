"""Kernels that are compiled apart from those that call them: through a pointer, when they are first reached.

numba compiles everything that a kernel calls into it, and all that this calls in turn, so that what lies deep is
compiled again at every level above it. Large kernels are kept out of each other: the caller holds a cell for the
address of the callee, which is empty at first. Whoever finds it empty asks Python (`_resolve`) to compile the callee,
or to load it from disk. So nobody waits for kernels that are not reached.
"""

from __future__ import annotations

import ctypes
import hashlib
import pickle
import traceback
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, get_type_hints

import llvmlite.binding as llvm
from llvmlite import ir
from numba import core, extending
from numba.core.typing import templates

from featavg.robustness.proof.compiled import entry, kernel

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
numbas: Any = core  # it has no types
cgutils, types = numbas.cgutils, numbas.types
RETURNS = {
    type(None): types.none,
    bool: types.boolean,
    int: types.int64,
    float: types.float64,
    tuple[int, float]: types.Tuple((types.int64, types.float64)),
    tuple[bool, float]: types.Tuple((types.boolean, types.float64)),
}
SYMBOL = "featavg_address_of_kernel"
POINTER, INTEGER = ir.IntType(8).as_pointer(), ir.IntType(64)
INTERRUPTED, FAILED = 1, 2
FAILURES = {INTERRUPTED: KeyboardInterrupt, FAILED: RuntimeError}
_kernels: dict[str, Any] = {}


def apart(
    compile_it: Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]],
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Compile by one of the ways of `compiled.py`, and let kernels call the result through a pointer.

    The annotation says what is returned, which is no array. Python runs what only kernels call without the compiler.

    >>> @apart(entry)
    ... def twice(value: float) -> float:
    ...     return 2.0 * value
    >>> twice(2.0)
    4.0
    """

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        compiled = compile_it(function)
        if compiled is function:  # the compiler is off
            return function
        outer = compiled if compile_it in (entry, kernel) else function

        def called(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
            return outer(*arguments, **named)

        name = f"{function.__module__}.{function.__qualname__}"
        _kernels[name] = compiled
        _tell_compiler(called, name, RETURNS[get_type_hints(function)["return"]])
        return called

    return decorate


def _tell_compiler(called: Callable[..., Any], name: str, returned: Any) -> None:
    """How a kernel calls the kernel of this name."""
    typing: Any = templates

    class Call(typing.AbstractTemplate):  # type: ignore[misc]
        key = called

        def generic(self, args: Any, kws: Any) -> Any:
            return numbas.typing.signature(returned, *(types.unliteral(each) for each in args))

    typing.infer_global(called, types.Function(Call))

    def call(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        function_type = context.call_conv.get_function_type(sig.return_type, sig.args)
        callee = builder.bitcast(_address(context, builder, name, sig.args), function_type.as_pointer())
        status, result = context.call_conv.call_function(builder, callee, sig.return_type, sig.args, args)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return result

    lower: Any = extending.lower_builtin
    lower(called, types.VarArg(types.Any))(call)


def _address(context: Any, builder: Any, name: str, args: Any) -> Any:
    """Code that reads the callee's address from its cell, and fills that first if it is empty."""
    module, request = builder.module, pickle.dumps((name, tuple(args)))
    label = f"featavg.{name}.{hashlib.sha256(request).hexdigest()[:16]}"
    cell = module.globals.get(label)
    if cell is None:
        cell = ir.GlobalVariable(module, POINTER, label)
        cell.linkage, cell.initializer = "internal", ir.Constant(POINTER, None)
    with cgutils.if_unlikely(builder, cgutils.is_null(builder, builder.load(cell))):
        text = cgutils.global_constant(builder, f"{label}.request", cgutils.make_bytearray(bytearray(request)))
        resolve = cgutils.get_or_insert_function(module, ir.FunctionType(POINTER, [POINTER, INTEGER]), SYMBOL)
        found = builder.call(resolve, [builder.bitcast(text, POINTER), INTEGER(len(request))])
        for code, error in FAILURES.items():
            failed = builder.icmp_unsigned("==", builder.ptrtoint(found, INTEGER), INTEGER(code))
            with cgutils.if_unlikely(builder, failed):
                context.call_conv.return_user_exc(builder, error, (f"{name} was not compiled",))
        builder.store(found, cell)
    return builder.load(cell)


def _resolve(request: int, size: int) -> int:
    """The address of a kernel for arguments of these types, or the code of a failure."""
    try:
        name, args = pickle.loads(ctypes.string_at(request, size))
        _kernels[name].compile(args)
        compiled = _kernels[name].overloads[args]
        return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseException:
        traceback.print_exc()
        return FAILED


_callback = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(_resolve)
symbols: Any = llvm
symbols.add_symbol(SYMBOL, ctypes.cast(_callback, ctypes.c_void_p).value)
