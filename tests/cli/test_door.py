"""The door opens at once: nothing heavy is imported before a verb needs it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from featavg import InputError, __version__, cli
from featavg.__main__ import main as command
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


@pytest.mark.parametrize("columns", [60, 80])
def test_a_list_fits_the_screen_and_has_no_colour_in_a_pipe(columns):
    answer = subprocess.run(
        [sys.executable, "-c", "from featavg.cli import main; main(['list'])"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": str(columns)},
    )
    assert max(map(len, answer.stdout.splitlines())) <= columns
    assert "\x1b" not in answer.stdout
    assert all(line == line.rstrip() for line in answer.stdout.splitlines())
    words = answer.stdout.split()
    assert all(chapter.name in words for chapter in Registry())
    assert all(word in words for chapter in Registry() for word in chapter.title.split())


def test_a_new_verb_is_a_new_file(tmp_path):
    (tmp_path / "greet.py").write_text('def verb(name: str) -> None:\n    """Greet."""\n    print("hello", name)\n')
    script = (
        "from featavg.cli import main\nfrom featavg.cli.verbs import VERBS\n"
        "VERBS.add('greet', 'greet')\nmain(['greet', 'you'])"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    run = [sys.executable, "-c", script]
    assert subprocess.check_output(run, text=True, env={**os.environ, "PYTHONPATH": path}) == "hello you\n"


def test_being_terminated_leaves_no_temporary_file(tmp_path):
    script = (
        "import time\nfrom featavg.cli import _terminated_in_order\nfrom featavg.files import whole_file\n"
        f"with _terminated_in_order(), whole_file({str(tmp_path / 'page.html')!r}) as file:\n"
        "    file.write(b'half')\n    print('writing', flush=True)\n    time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    assert len(list(tmp_path.iterdir())) == 1
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert list(tmp_path.iterdir()) == []


def test_streams_and_pipes_are_refused_and_links_stay_links(tmp_path):
    results = Path(__file__).parents[2] / "results"
    (tmp_path / "runs").mkdir()
    for name in ("ideal.json", "ideal.npz"):
        (tmp_path / "runs" / name).write_bytes((results / name).read_bytes())
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "stdout.html").symlink_to("/dev/stdout")
    (tmp_path / "link.html").symlink_to("real.html")
    (tmp_path / "real.html").write_text("old")

    def report(place, stdout):
        command = [sys.executable, "-c", "from featavg.cli import main; main()", "report", "runs", "-o", place]
        return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False)

    with open(tmp_path / "output.txt", "w") as file:
        for place in ("pipe.html", "stdout.html"):
            answer = report(place, file)
            assert answer.returncode == 2
            assert "is a pipe or a device" in answer.stderr
    assert (tmp_path / "output.txt").read_text() == ""
    assert (tmp_path / "pipe.html").is_fifo()
    assert report("link.html", subprocess.PIPE).returncode == 0
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").read_text().startswith("<!DOCTYPE html>")
    assert "must end in .html" in report("/dev/stdout", subprocess.PIPE).stderr


def test_outside_a_terminal_long_work_says_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from featavg.cli import progress

    now = iter([0.0, 1.0, 2.5, 2.5, 4.0, 7.0, 7.0])  # when it begins, then when it is asked and when a line was written
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    with progress.Working("reading") as working:
        for stage in ("soon", "training", "at once", "drawing"):
            working.tell(0.5, stage)
    assert capsys.readouterr().err.splitlines() == ["50 %: training", "50 %: drawing"]


def test_outside_a_terminal_chapters_say_how_far_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from featavg.cli import progress

    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.Bars(2) as bars:
        bars.start(Registry()["averaging"])(0.25, "seed 3")
    assert capsys.readouterr().err.splitlines() == ["25 % of averaging: seed 3"]


def test_an_end_that_a_destructor_swallows_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def deaf() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1.0)
        except SystemExit:
            pass  # as in a destructor
        time.sleep(5.0)

    monkeypatch.setattr(cli, "ASK_AGAIN", 0.05)
    with pytest.raises(SystemExit), cli._terminated_in_order():
        deaf()
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0


def test_an_end_that_was_swallowed_by_the_last_piece_of_work_comes_after_it() -> None:
    def short() -> None:
        with contextlib.suppress(SystemExit):  # as a destructor does
            os.kill(os.getpid(), signal.SIGTERM)
        sys.exit(0)  # as commands end that have done their work

    with pytest.raises(SystemExit) as ended, cli._terminated_in_order():
        short()
    assert ended.value.code == cli.TERMINATED


def test_an_interruption_while_the_command_is_imported_is_one_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Slow:
        def __getattr__(self, name: str) -> None:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "featavg.cli", Slow())
    with pytest.raises(SystemExit) as ended:
        command()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "stopped\n"
