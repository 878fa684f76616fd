"""Finds experiments by name, and imports one only when it is asked for."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from types import ModuleType
from typing import Any, Protocol

from featavg.errors import InputError
from featavg.record import Claim, Drawing, Record


class Progress(Protocol):
    """Told by a running experiment how far it is; what becomes of it is not the experiment's business."""

    def __call__(self, fraction: float, what: str = "", /) -> None:
        """`fraction` of the run is done, from 0 to 1; `what` is worked on now."""


def record_of(
    config: Any,
    *,
    claims: Sequence[Claim],
    arrays: Mapping[str, Any],
    drawings: Sequence[Drawing] = (),
    notes: Sequence[str] = (),
) -> Record:
    """Return the record of a run; name, title, configuration and seeds are those of the module `config` is from."""
    module = sys.modules[type(config).__module__]
    return Record(
        name=module.__name__.rpartition(".")[2],
        title=_title(module),
        config=asdict(config),
        seeds=tuple(range(first := getattr(config, "first_seed", 0), first + config.seeds)),
        claims=tuple(claims),
        arrays=arrays,
        drawings=tuple(drawings),
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class Experiment:
    """An experiment module whose parts have been checked; see the head of `featavg.experiments`."""

    name: str
    module: ModuleType

    def __post_init__(self) -> None:
        for part in ("COST", "NEEDS", "Config", "run"):
            if not hasattr(self.module, part):
                raise InputError(f"experiment {self.name!r} has no {part}; see the head of featavg/experiments")
        if not is_dataclass(self.module.Config) or not hasattr(self.module.Config, "seeds"):
            raise InputError(f"Config of experiment {self.name!r} must be a dataclass with `seeds: int = 5`")
        if self.module.COST[0] not in ("quick", "long"):
            raise InputError(f"COST of experiment {self.name!r} must be quick or long, got {self.module.COST[0]!r}")

    @property
    def title(self) -> str:
        """The first line of the module's docstring."""
        return _title(self.module)

    @property
    def quick(self) -> bool:
        """Whether it runs without being named."""
        return bool(self.module.COST[0] == "quick")

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        return float(self.module.COST[1])

    @property
    def needs(self) -> tuple[str, ...]:
        """The data sets it needs."""
        return tuple(self.module.NEEDS)

    def config(self, seeds: int | None = None, first_seed: int | None = None) -> Any:
        """Return its configuration, with another number of seeds, or others than 0, 1, ..., if given."""
        given = {"seeds": seeds, "first_seed": first_seed}
        if first_seed is not None and not hasattr(self.module.Config, "first_seed"):
            raise InputError(f"{self.name!r} has no other seeds than 0, 1, ...; run it without first_seed")
        return self.module.Config(**{name: value for name, value in given.items() if value is not None})

    def run(self, config: Any, progress: Progress) -> Record:
        """Run it."""
        record: Record = self.module.run(config, progress)
        return record


class Registry:
    """The experiments of a package, one module each; modules with an underscore in front are not experiments."""

    def __init__(self, package: str = "featavg.experiments") -> None:
        self._package = package

    @property
    def names(self) -> list[str]:
        """The names of all experiments, without importing them."""
        folders = importlib.import_module(self._package).__path__
        return sorted(found.name for found in pkgutil.iter_modules(folders) if not found.name.startswith("_"))

    def __getitem__(self, name: str) -> Experiment:
        """Import one experiment; an unknown name is answered with the nearest ones."""
        known = self.names
        plain = name.lower().replace("-", "_")
        if plain not in known:
            near = difflib.get_close_matches(plain, known, n=3, cutoff=0.5)
            offer = f"did you mean {' or '.join(near)}" if near else f"there are {', '.join(known) or 'none yet'}"
            raise InputError(f"no claim is called {name!r}; {offer}")
        return Experiment(plain, importlib.import_module(f"{self._package}.{plain}"))

    def select(self, names: Iterable[str], full: bool = False) -> list[Experiment]:
        """Return the experiments named, each once; without names all quick ones, with `full` the long ones too."""
        chosen = [self[name] for name in names]
        if not chosen:
            return [found for found in map(self.__getitem__, self.names) if full or found.quick]
        return list({experiment.name: experiment for experiment in chosen}.values())


def _title(module: ModuleType) -> str:
    return (inspect.getdoc(module) or module.__name__).splitlines()[0].strip()
