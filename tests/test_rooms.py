"""The direction between rooms: read from the imports themselves, so that a shortcut shows at once."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "featavg"
BASE = {
    "errors",
    "arrays",
    "compilation",
    "files",
    "intervals",
    "npz",
    "processes",
    "progress",
    "registry",
    "shown",
    "threads",
}
TWO_LAYER = {"data", "model", "training", "analysis", "robustness"}
# Whatever a room is not given here it may not import; its own modules are always free to it.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "arrays": {"errors"},
    "compilation": set(),
    "files": {"errors"},
    "intervals": {"errors", "arrays"},
    "npz": {"errors"},
    "processes": {"errors"},
    "progress": set(),
    "registry": {"errors"},
    "shown": {"errors"},
    "threads": set(),
    "data": BASE,
    "model": BASE | {"data"},
    "training": BASE | {"data", "model"},
    "analysis": BASE | {"data", "model", "training"},
    "robustness": BASE | {"data", "model"},
    "record": BASE | {"__version__"},
    "figures": BASE | {"record"},
    "report": BASE | {"record", "figures"},
    "deep": BASE | {"data", "model", "robustness"},
    "sweep": BASE | {"record"},
    "show": BASE | TWO_LAYER | {"figures"},
    "lab": BASE | TWO_LAYER | {"show", "__version__"},
    "refine": BASE | TWO_LAYER | {"deep", "record", "figures", "report"},
    "experiments": BASE | TWO_LAYER | {"deep", "refine", "sweep", "record", "figures"},
    "cli": BASE
    | {
        "data",
        "deep",
        "experiments",
        "figures",
        "lab",
        "refine",
        "report",
        "robustness",
        "sweep",
        "record",
        "__version__",
    },
    "__main__": {"cli"},
}
FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(tree: ast.AST, path: Path) -> Iterator[str]:
    """Full dotted names of everything imported below a node."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the direction"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def top_level(path: Path) -> Iterator[str]:
    """What is imported as soon as the module is: not inside functions."""
    tree = ast.parse(path.read_text())
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imports(node, path)


def rooms_imported(path: Path) -> set[str]:
    names = imports(ast.parse(path.read_text()), path)
    return {name.split(".")[1] for name in names if name.startswith("featavg.")}


def test_every_room_has_its_rule() -> None:
    assert {room_of(path) for path in FILES} - {"__init__"} <= set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_lies_below_it(room: str) -> None:
    wrong = {
        f"{path.relative_to(PACKAGE)} imports {other}"
        for path in FILES
        if room_of(path) == room
        for other in rooms_imported(path) - MAY_IMPORT[room] - {room}
    }
    assert wrong == set()


def modules_imported(path: Path) -> set[str]:
    """The modules that are imported, or that names are taken from, anywhere in a file."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def test_other_rooms_are_entered_through_their_door() -> None:
    past = {
        f"{path.relative_to(PACKAGE)}: {module}"
        for path in FILES
        for module in modules_imported(path)
        if module.startswith("featavg.") and module.count(".") > 1 and module.split(".")[1] != room_of(path)
    }
    assert past == set()


def test_the_rules_have_no_cycle() -> None:
    left = {room: set(others) & set(MAY_IMPORT) for room, others in MAY_IMPORT.items()}
    while left:
        free = {room for room, others in left.items() if not others & set(left)}
        assert free, f"a cycle among {sorted(left)}"
        left = {room: others for room, others in left.items() if room not in free}


def test_torch_is_imported_by_the_deep_room_alone_and_dask_only_when_asked_for() -> None:
    for path in FILES:
        heavy = {name.split(".")[0] for name in top_level(path)} & {"torch", "dask", "distributed", "torchvision"}
        assert not heavy or room_of(path) == "deep", path
        if room_of(path) != "deep":
            deep = [name for name in top_level(path) if name.startswith("featavg.deep")]
            assert not deep, f"{path} imports the deep room before it is asked for"


def test_the_science_neither_prints_nor_plots() -> None:
    for path in FILES:
        if room_of(path) not in TWO_LAYER:
            continue
        tree = ast.parse(path.read_text())
        plotting = {name for name in imports(tree, path) if name.split(".")[0] in ("matplotlib", "rich", "typer")}
        assert not plotting, path
        calls = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert "print" not in calls, path


def python(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_importing_the_package_and_all_its_names_leaves_the_heavy_libraries_out() -> None:
    heavy = "{'torch', 'dask', 'matplotlib', 'rich', 'typer'}"
    code = f"import sys, featavg; [getattr(featavg, name) for name in dir(featavg)]; print({heavy} & set(sys.modules))"
    assert python(code) == "set()"


def test_training_and_exact_radii_need_no_scikit_learn() -> None:
    code = (
        "import sys, featavg; featavg.train, featavg.decompose, featavg.robust_radius; print('sklearn' in sys.modules)"
    )
    assert python(code) == "False"
