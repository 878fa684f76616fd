"""Kernels that are called through a pointer: found when first reached, one for each kind of arguments."""

import numpy as np
import pytest

from featavg.robustness.proof import apart as module
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.compiled import _if_readable, borrowing, entry, inner, kernel

NAME = "tests.robustness.proof.test_apart."


@apart(borrowing)
def twice(values: np.ndarray, factor: float) -> float:
    values[0] *= 2
    return values[0] * factor


@apart(inner)
def first_and_sum(values: np.ndarray) -> tuple[int, float]:
    copied = np.zeros(values.size)
    for i in range(values.size):
        copied[i] = values[i]
    return int(values[0]), copied.sum()


@apart(entry)
def half(value: float) -> float:
    return 0.5 * value


@kernel
def together(floats: np.ndarray, whole: np.ndarray) -> float:
    total = 0.0
    for _ in range(3):
        total += twice(floats, 0.5) + twice(whole, 10.0)
    one, other = first_and_sum(floats)
    return half(total + one + other)


@apart(borrowing)
def hopeless(value: float) -> float:
    return value.nothing_of_the_kind


@kernel
def without_hope(value: float) -> float:
    return hopeless(value)


@apart(borrowing)
def patient(value: float) -> float:
    return value + 1.0


@kernel
def waits(value: float) -> float:
    return patient(value)


def test_kernels_of_both_types_of_arguments_are_found() -> None:
    # 3 rounds: 1 + 2 + 4 of halves of doubled ones, 20 + 40 + 80 of whole numbers; then 8 and 8 + 1.
    assert together(np.array([1.0, 1.0]), np.array([1, 1])) == 0.5 * (7.0 + 140.0 + 8.0 + 9.0)


def test_python_calls_an_entry_compiled_and_the_others_plainly() -> None:
    assert half(3.0) == 1.5
    assert module._kernels[NAME + "half"].signatures
    assert twice(np.array([3.0]), 2.0) == 12.0


def test_a_kernel_that_cannot_be_compiled_ends_the_caller(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="hopeless was not compiled"):
        without_hope(1.0)
    assert "nothing_of_the_kind" in capfd.readouterr().err


def test_an_interruption_while_compiling_is_one_and_the_next_call_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def compile(self, args: object) -> None:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setitem(module._kernels, NAME + "patient", Interrupted())
        with pytest.raises(KeyboardInterrupt):
            waits(1.0)
    assert waits(1.0) == 2.0


def test_a_list_of_compiled_kernels_that_names_types_that_are_gone_is_empty() -> None:
    def gone() -> dict[object, object]:
        raise AttributeError("Can't get attribute 'Absent'")

    assert _if_readable(gone)() == {}
    assert _if_readable(lambda: {1: 2})() == {1: 2}
