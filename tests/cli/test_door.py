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
    (package / "deeper").mkdir()
    (package / "deeper" / "broken.py").write_text('"""Broken.\n\nMore."""\nCOST = ("long", 1)\nraise RuntimeError')
    (package / "half.py").write_text('"""Half."""\nCOST = ("quick", 1)\n')
    (package / "whole.py").write_text(
        '"""Whole."""\nfrom x import measure, Config\nCOST = ("quick", 2)\nNEEDS = ("mnist",)\nCOLUMNS = {}\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = Registry("claims_that_break")
    assert registry.names == ["broken", "half", "whole"]
    for name in ("broken", "half"):
        with pytest.raises(InputError, match=f"chapter '{name}' has no NEEDS"):
            registry[name]
    whole = registry["whole"]
    assert (whole.title, whole.cost, whole.needs, whole.quick) == ("Whole.", ("quick", 2), ("mnist",), True)


def test_every_chapter_of_the_package_keeps_the_protocol():
    for chapter in Registry():
        assert chapter.title
        assert chapter.config(seeds=7).seeds == 7
        assert chapter.config(first_seed=1000).first_seed == 1000


def test_listing_reads_files_and_imports_no_chapter():
    script = (
        "import sys\nfrom featavg.cli import main\n"
        "try: main(['list'])\nexcept SystemExit: pass\n"
        "heavy = {'scipy', 'sklearn', 'torch', 'matplotlib', 'featavg.experiments.paper', 'featavg.training'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stderr.strip() == "[]"
    assert all(name in answer.stdout for name in Registry().names)


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
