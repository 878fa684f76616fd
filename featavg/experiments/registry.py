"""Finds chapters by name; what `featavg list` says of them is read from their files, importing nothing."""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from featavg.errors import InputError

if TYPE_CHECKING:
    from featavg.progress import Progress
    from featavg.record import Record

ORDER = ("paper", "implicit_bias", "images", "refinement")  # of folders on a page
PARTS = ("NEEDS", "Config", "COLUMNS", "measure")


@dataclass(frozen=True)
class Chapter:
    """One claim of the command line: a module with the parts that the head of `featavg.experiments` lists."""

    name: str
    path: str  # dotted, of its module
    title: str  # the first line of its docstring
    cost: tuple[str, float]  # ("quick" or "long", about how many seconds)
    needs: tuple[str, ...]  # data sets

    @property
    def quick(self) -> bool:
        """Whether it runs without being named."""
        return self.cost[0] == "quick"

    @cached_property
    def module(self) -> ModuleType:
        """Imported now."""
        return importlib.import_module(self.path)

    @cached_property
    def code(self) -> str:
        """A digest of all that its numbers may come from: the package, and the one that the chapter is in."""
        from featavg.record import code_digest

        home = importlib.import_module(self.path.partition(".")[0])
        return code_digest(*map(Path, getattr(home, "__path__", ())))

    def config(self, seeds: int | None = None, first_seed: int | None = None) -> Any:
        """Return its configuration, with another number of seeds, or others than 0, 1, ..., if given."""
        if not all(hasattr(self.module.Config, name) for name in ("seeds", "first_seed")):
            raise InputError(f"Config of chapter {self.name!r} needs `seeds: int = 5` and `first_seed: int = 0`")
        given = {"seeds": seeds, "first_seed": first_seed}
        return self.module.Config(**{name: value for name, value in given.items() if value is not None})

    def run(self, config: Any, progress: Progress) -> Record:
        """Run it."""
        from featavg.experiments.driver import run_chapter

        return run_chapter(self, config, progress)


class Registry:
    """The chapters of a package and of the packages inside it: those of their modules that say what they cost."""

    def __init__(self, package: str = "featavg.experiments") -> None:
        self._package = package

    @cached_property
    def _files(self) -> dict[str, tuple[str, Path]]:
        """Name -> dotted path and file."""
        spec = importlib.util.find_spec(self._package)
        folders = [] if spec is None else list(spec.submodule_search_locations or ())
        found = {}
        for folder in map(Path, folders):
            for file in sorted(folder.rglob("*.py")):
                if "\nCOST = " in file.read_text(encoding="utf-8"):
                    inside = ".".join(file.relative_to(folder).with_suffix("").parts)
                    found[file.stem] = (f"{self._package}.{inside}", file)
        return dict(sorted(found.items()))

    @property
    def names(self) -> list[str]:
        """The names of all chapters."""
        return list(self._files)

    @property
    def themes(self) -> dict[str, str]:
        """Chapter -> theme, the first line of its folder's docstring; in the order of a page, unknown folders last."""
        folders = {name: file.parent for name, (_, file) in self._files.items()}
        titles = {folder: _title(folder / "__init__.py") for folder in set(folders.values())}

        def place(name: str) -> tuple[int, str]:
            folder = folders[name].name
            return (ORDER.index(folder) if folder in ORDER else len(ORDER), folder)

        return {name: titles[folders[name]] for name in sorted(folders, key=place)}

    def __iter__(self) -> Iterator[Chapter]:
        return (self[name] for name in self._files)

    def __getitem__(self, name: str) -> Chapter:
        """Read about one chapter; an unknown name is answered with the nearest ones."""
        plain = name.lower().replace("-", "_")
        if plain not in self._files:
            near = difflib.get_close_matches(plain, self.names, n=3, cutoff=0.5)
            offer = f"did you mean {' or '.join(near)}" if near else f"there are {', '.join(self.names) or 'none yet'}"
            raise InputError(f"no claim is called {name!r}; {offer}")
        path, file = self._files[plain]
        tree = ast.parse(file.read_text(encoding="utf-8"))
        values = dict(_defined(tree))
        if missing := [part for part in PARTS if part not in values]:
            raise InputError(f"chapter {plain!r} has no {missing[0]}; see the head of featavg/experiments")
        cost, needs = (ast.literal_eval(values[part]) for part in ("COST", "NEEDS"))  # type: ignore[arg-type]
        if cost[0] not in ("quick", "long"):
            raise InputError(f"COST of chapter {plain!r} must be quick or long, got {cost[0]!r}")
        title = _first_line(tree, plain)
        return Chapter(plain, path, title, cost, needs)

    def select(self, names: Iterable[str], full: bool = False) -> list[Chapter]:
        """Return the chapters named, each once; without names all quick ones, with `full` the long ones too."""
        chosen = [self[name] for name in names]
        if not chosen:
            return [chapter for chapter in self if full or chapter.quick]
        return list({chapter.name: chapter for chapter in chosen}.values())


def _title(file: Path) -> str:
    """The first line of a package's docstring, without its full stop; the name of its folder if it has none."""
    name = file.parent.name
    return _first_line(ast.parse(file.read_text(encoding="utf-8")), name).rstrip(".") if file.exists() else name


def _first_line(tree: ast.Module, otherwise: str) -> str:
    return (ast.get_docstring(tree) or otherwise).splitlines()[0].strip()


def _defined(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that a module defines or imports, with the expressions they are assigned."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.value
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, None
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, None) for alias in node.names)
