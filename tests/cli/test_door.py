"""The door opens at once: nothing heavy is imported before a verb needs it."""

import subprocess
import sys

import pytest

from featavg import InputError, __version__
from featavg.experiments import Registry


def ask(*arguments):
    script = (
        "import sys\nfrom featavg.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: code = end.code\n"
        "heavy = {'scipy', 'sklearn', 'torch', 'matplotlib', 'rich.progress'} & set(sys.modules)\n"
        "print(code, *sorted(heavy), file=sys.stderr)"
    )
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["reproduce", "--help"], ["diagnose", "--help"], ["refine", "--help"], ["--version"]]
)
def test_help_imports_nothing_heavy(arguments):
    answer = ask(*arguments)
    assert answer.stderr.split() == ["0"]
    assert answer.stdout


def test_version_is_the_packages():
    assert ask("--version").stdout == f"featavg {__version__}\n"


def test_names_are_found_without_importing(tmp_path, monkeypatch):
    package = tmp_path / "claims_that_break"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "_shared.py").touch()
    (package / "broken.py").write_text("raise RuntimeError")
    (package / "half.py").write_text('"""Half."""\nCOST = ("quick", 1)\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = Registry("claims_that_break")
    assert registry.names == ["broken", "half"]
    with pytest.raises(InputError, match="experiment 'half' has no NEEDS"):
        registry["half"]


def test_every_experiment_of_the_package_keeps_the_protocol():
    registry = Registry()
    for name in registry.names:
        experiment = registry[name]
        assert experiment.title
        assert experiment.config(seeds=7).seeds == 7
        assert experiment.config(first_seed=1000).first_seed == 1000


def test_fetching_an_unknown_data_set_is_one_sentence():
    answer = subprocess.run(
        [sys.executable, "-c", "from featavg.cli import main; main()", "data", "fetch", "mnst"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert answer.stderr.count("\n") == 1
    assert "mnist" in answer.stderr
