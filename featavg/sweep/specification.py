"""What is run: a function, the parameters that stay, those that vary, and the seeds."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import Parameter, signature
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from featavg.errors import InputError

FIELDS = ("function", "base", "axes", "random", "draws", "design_seed", "seeds", "first_seed")


@dataclass(frozen=True)
class Trial:
    """One call of the function: its parameters and its seed."""

    parameters: Mapping[str, Any]
    seed: int
    key: str  # of what is run, with which parameters, at which seed

    def __str__(self) -> str:
        said = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{said}, seed={self.seed}" if said else f"seed={self.seed}"


@dataclass(frozen=True)
class Specification:
    """A function `module:name` of keyword parameters and `seed`, over a grid of axes, random draws, or both.

    The function returns a dict of numbers. It may have an attribute `check`, which is given the same parameters
    (without seed) and returns a sentence if they cannot go together, and an attribute `version`, to be changed with
    what it computes: trials of two versions are never put into one store.

    >>> spec = Specification("featavg.sweep.examples:line", axes={"slope": [1, 2]}, seeds=2)
    >>> [str(trial) for trial in spec.trials()]
    ['slope=1, seed=0', 'slope=1, seed=1', 'slope=2, seed=0', 'slope=2, seed=1']
    """

    function: str
    base: Mapping[str, Any] = field(default_factory=dict)
    axes: Mapping[str, Any] = field(default_factory=dict)  # name -> values, or {from, to, count[, log]}
    random: Mapping[str, Any] = field(default_factory=dict)  # name -> {from, to[, log]}, drawn `draws` times
    draws: int = 0
    design_seed: int = 0
    seeds: int = 1
    first_seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("draws", 0), ("design_seed", 0), ("seeds", 1), ("first_seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise InputError(f"{name} of a sweep must be a whole number from {least}, got {value!r}")
        if not all(isinstance(part, Mapping) for part in (self.base, self.axes, self.random)):
            raise InputError("base, axes and random of a sweep must be tables of parameters")
        if "seed" in {*self.base, *self.axes, *self.random}:
            raise InputError(
                "the seed is no parameter of a sweep; say how many with seeds, and from where with first_seed"
            )
        if bool(self.random) != bool(self.draws):
            raise InputError("random axes and `draws`, how many to draw, go together; give both or neither")
        twice = sorted((set(self.base) & set(self.axes)) | (set(self.random) & (set(self.axes) | set(self.base))))
        if twice:
            raise InputError(f"a parameter is either fixed or varied once, got {', '.join(twice)} twice")

    def settings(self) -> list[dict[str, Any]]:
        """All combinations of parameters, in order, without seeds."""
        for name, about in {**self.axes, **self.random}.items():
            _check_values(name, about)
        base = {name: _plain(value) for name, value in self.base.items()}
        grid = [dict(zip(self.axes, values, strict=True)) for values in product(*map(_values, self.axes.values()))]
        rng = np.random.default_rng(self.design_seed)
        drawn = [{name: _draw(rng, about) for name, about in self.random.items()} for _ in range(self.draws)] or [{}]
        return [{**base, **fixed, **chance} for fixed in grid for chance in drawn]

    def trials(self) -> list[Trial]:
        """Every setting at every seed."""
        seeds = range(self.first_seed, self.first_seed + self.seeds)
        version = version_of(self.resolve())
        made = (
            Trial(setting, seed, key_of(self.function, version, setting, seed))
            for setting in self.settings()
            for seed in seeds
        )
        return list({trial.key: trial for trial in made}.values())

    def resolve(self) -> Callable[..., Mapping[str, Any]]:
        """The function itself, imported."""
        return resolve(self.function)

    def check(self) -> None:
        """Refuse, before anything runs, parameters that the function has not, and combinations that cannot be."""
        function = self.resolve()
        _check_names(function, {*self.base, *self.axes, *self.random})
        test = getattr(function, "check", None)
        wrong = [] if test is None else [(setting, said) for setting in self.settings() if (said := test(**setting))]
        if wrong:
            told = "; ".join(f"{said} ({_told(setting)})" for setting, said in wrong)
            raise InputError(f"{len(wrong)} of the combinations cannot be run: {told}")


def read_specification(source: str | os.PathLike[str] | Mapping[str, Any]) -> Specification:
    """A specification from a TOML file or a dict.

    >>> axis = {"from": 1, "to": 100, "count": 3, "log": True}
    >>> read_specification({"function": "featavg.sweep.examples:line", "axes": {"slope": axis}}).settings()
    [{'slope': 1.0}, {'slope': 10.0}, {'slope': 100.0}]
    """
    content = source if isinstance(source, Mapping) else _read(Path(source))
    unknown = sorted(set(content) - set(FIELDS))
    if unknown or not isinstance(content.get("function"), str):
        raise InputError(
            f'a sweep needs function = "module:name" and may have {", ".join(FIELDS[1:])}, got '
            f"{', '.join(map(str, unknown or sorted(content))) or 'nothing'}"
        )
    return Specification(**content)


def resolve(function: str) -> Callable[..., Mapping[str, Any]]:
    """The function that `module:name` names."""
    module, _, name = function.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"no function {function!r} to sweep over ({error}); name it as module:function") from None
    if not callable(found):
        raise InputError(f"{function!r} is no function; name it as module:function")
    function_found: Callable[..., Mapping[str, Any]] = found
    return function_found


def version_of(function: Callable[..., Any]) -> int | str:
    """The version of what a function computes, 0 if it names none."""
    found: int | str = getattr(function, "version", 0)
    return found


def key_of(function: str, version: int | str, parameters: Mapping[str, Any], seed: int) -> str:
    """A name of the trial that does not depend on the order of its parameters."""
    told = json.dumps([function, version, dict(parameters), seed], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the specification {path} ({error.strerror}); check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no TOML file ({error})") from None


def _values(about: Any) -> list[Any]:
    """The values of an axis: a list, or `count` from one end to the other."""
    if not isinstance(about, Mapping):
        return _listed(about)
    low, high = _ends(about, "from, to, count")
    count = about["count"]
    if not isinstance(count, int) or count < 1:
        raise InputError(f"the count of an axis must be a whole number from 1, got {count!r}")
    spaced = np.geomspace(low, high, count) if about.get("log") else np.linspace(low, high, count)
    return [float(value) for value in spaced]


def _draw(rng: np.random.Generator, about: Any) -> Any:
    """A value of a random axis: one of a list, or from between two ends."""
    if not isinstance(about, Mapping):
        values = _listed(about)
        return values[int(rng.integers(len(values)))]
    low, high = _ends(about, "from, to")
    if about.get("log"):
        return math.exp(rng.uniform(math.log(low), math.log(high)))
    return float(rng.uniform(low, high))


def _check_values(name: str, about: Any) -> None:
    """Refuse values that are equal without being the same, as 1 and 1.0: no table could tell their trials apart."""
    values = [] if isinstance(about, Mapping) else _listed(about)
    for value in values:
        twin = values[values.index(value)]
        if json.dumps(twin) != json.dumps(value):
            raise InputError(f"values of {name} must not be equal, got both {twin!r} and {value!r}; give one of them")


def _listed(about: Any) -> list[Any]:
    if isinstance(about, str) or not isinstance(about, Iterable) or not (values := list(about)):
        raise InputError(f"an axis must be a list of at least one value, or have from and to, got {about!r}")
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    """A value of a parameter as Python has it, so that a trial is the same one whoever asks for it."""
    value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        raise InputError(
            f"parameters of a sweep are numbers, texts, and lists and tables of them, got {value!r}; pass its name"
        ) from None
    return value


def _ends(about: Mapping[str, Any], needed: str) -> tuple[float, float]:
    """Where an axis begins and ends, once it is known to have what is needed and nothing else."""
    names = set(needed.split(", "))
    low, high = (float(end) if isinstance(end := about.get(name), int | float) else math.nan for name in ("from", "to"))
    numbers = math.isfinite(low) and math.isfinite(high)
    if not numbers or not names <= set(about) <= names | {"log"}:
        raise InputError(f"an axis that is no list has {needed} and perhaps log, got {dict(about)}")
    if about.get("log") and not (low > 0 and high > 0):
        raise InputError(f"a logarithmic axis needs positive ends, got {low:g} and {high:g}")
    return low, high


def _check_names(function: Callable[..., Any], given: set[str]) -> None:
    known = signature(function).parameters
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known.values()):
        return
    wrong, free = sorted(given - set(known)), sorted(set(known) - {"seed"})
    if wrong:
        raise InputError(f"the swept function has the parameters {', '.join(free)}, got {', '.join(wrong)}")
    needed = {name for name, parameter in known.items() if parameter.default is Parameter.empty} - {"seed"}
    if needed - given:
        raise InputError(f"the swept function needs {', '.join(sorted(needed - given))}; put them into base or axes")


def _told(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in setting.items())
