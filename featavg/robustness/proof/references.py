"""Named tuples that kernels hand to each other by reference.

numba passes a tuple of arrays as seven words an array, on the stack: hundreds of them for every call, more than a small
problem computes with, and code to move them at every place that calls. What is `by_reference` is one pointer instead:
to memory of the frame that got the tuple from Python, or that made it and `lent` it. So nobody returns it.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba import core, extending
from numba.core.typing import templates

Kind = TypeVar("Kind", bound=type)
numbas: Any = core  # it has no types
extended: Any = extending
typing: Any = templates
cgutils, types = numbas.cgutils, numbas.types
Type: Any = types.Type


class Reference(Type):  # type: ignore[misc]
    """A pointer to the fields of a named tuple."""

    def __init__(self, kind: type, fields: tuple[Any, ...]) -> None:
        self.kind, self.fields = kind, fields
        super().__init__(name=f"reference({kind.__module__}.{kind.__qualname__}{fields})")

    def position(self, name: str) -> int:
        """Where a field is, −1 if there is none of that name."""
        names: tuple[str, ...] = self.kind._fields  # type: ignore[attr-defined]
        return names.index(name) if name in names else -1


def by_reference(kind: Kind) -> Kind:
    """Let kernels take named tuples of this class by reference.

    >>> from typing import NamedTuple
    >>> @by_reference
    ... class Pair(NamedTuple):
    ...     one: float
    ...     other: float
    >>> numba.njit(lambda pair: pair.one - pair.other)(Pair(3.0, 1.0))
    2.0
    """

    def type_of(value: Any, context: Any) -> Reference:
        return Reference(kind, tuple(extended.typeof_impl(field, context) for field in value))

    extended.typeof_impl.register(kind)(type_of)
    return kind


def _lent(typing_context: Any, value: Any) -> Any:
    """A reference to a named tuple that the kernel itself has made: to memory that its next one is written to."""
    reference = Reference(value.instance_class, tuple(types.unliteral(each) for each in value.types))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        fields = [builder.extract_value(arguments[0], i) for i in range(len(reference.fields))]
        return _written(context, builder, reference, fields)

    return reference(value), generate


def _same(value: Any) -> Any:
    return value


settings: Any = numba.config
lent: Any = _same if settings.DISABLE_JIT else extended.intrinsic(_lent)


def _written(context: Any, builder: Any, reference: Reference, fields: list[Any]) -> Any:
    """A pointer to memory of this frame with these fields."""
    pointer = cgutils.alloca_once(builder, context.get_value_type(reference).pointee)
    for i, field in enumerate(fields):
        builder.store(field, cgutils.gep_inbounds(builder, pointer, 0, i))
    return pointer


@extended.register_model(Reference)
class _Pointer(extended.models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, reference: Reference) -> None:
        fields = [manager.lookup(each).get_value_type() for each in reference.fields]
        super().__init__(manager, reference, ir.LiteralStructType(fields).as_pointer())


@typing.infer_getattr
class _Field(typing.AttributeTemplate):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        position = reference.position(name)
        return reference.fields[position] if position >= 0 else None


def _get_field(context: Any, builder: Any, reference: Reference, pointer: Any, name: str) -> Any:
    position = reference.position(name)
    place = cgutils.gep_inbounds(builder, pointer, 0, position)
    value = builder.load(place)
    return numbas.imputils.impl_ret_borrowed(context, builder, reference.fields[position], value)


extended.lower_getattr_generic(Reference)(_get_field)


def _from_python(reference: Reference, value: Any, c: Any) -> Any:
    """Write the fields of a tuple to the frame of the call from Python, which outlives it."""
    fields, failed = [], cgutils.false_bit
    for i, each in enumerate(reference.fields):
        fields.append(c.unbox(each, c.pyapi.tuple_getitem(value, i)))
        failed = c.builder.or_(failed, fields[-1].is_error)

    def cleanup() -> None:
        for each, field in zip(reference.fields, fields, strict=True):
            if field.cleanup is not None:
                field.cleanup()
            if c.context.enable_nrt:
                c.context.nrt.decref(c.builder, each, field.value)

    pointer = _written(c.context, c.builder, reference, [field.value for field in fields])
    return numbas.pythonapi.NativeValue(pointer, is_error=failed, cleanup=cleanup)


extended.unbox(Reference)(_from_python)
