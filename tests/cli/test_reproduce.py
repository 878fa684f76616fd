"""The command line as a user meets it, on toy experiments that are no part of the package."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from featavg.cli import main
from featavg.npz import pack_npz, read_npz
from featavg.record import read_record

HERE = Path(__file__).parent


@pytest.fixture
def featavg(monkeypatch, capsys):
    """Run a command line with the toy claims; returns exit code, output and error stream."""
    monkeypatch.syspath_prepend(str(HERE))

    def run(*arguments):
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments], experiments="toy_claims")
        return caught.value.code or 0, *capsys.readouterr()

    return run


def test_list_names_cost_and_data(featavg):
    code, output, _ = featavg("list")
    assert code == 0
    assert "Numbers grow with their place." in output
    assert "long, 60 s" in output
    assert "mnist" in output


def test_list_as_json_has_everything_the_table_has(featavg):
    code, output, _ = featavg("list", "--json")
    growing, slow = json.loads(output)
    assert code == 0
    assert (growing["name"], growing["cost"], growing["needs"]) == ("growing", "quick", {})
    assert (slow["title"], slow["seconds"], list(slow["needs"])) == ("Waits until it is interrupted.", 60, ["mnist"])


def test_quick_claims_run_by_default_and_leave_records_and_a_report(featavg, tmp_path):
    code, output, errors = featavg("reproduce", "-o", tmp_path)
    assert code == 0
    assert "2 claims in 1 experiment: 1 holds, 1 fails." in output
    assert f"report: {tmp_path / 'report.html'}" in output
    assert "growing: " in errors
    assert {path.name for path in tmp_path.iterdir()} == {"growing.json", "growing.npz", "report.html"}
    assert read_record(tmp_path / "growing.json").seeds == (0, 1, 2, 3, 4)


def test_json_is_all_there_is_on_the_output(featavg, tmp_path):
    code, output, _ = featavg("reproduce", "growing", "-o", tmp_path, "--json", "--seeds", "3")
    found = json.loads(output)
    assert code == 0
    assert found["verdicts"] == {"holds": 0, "fails": 1, "open": 1, "vacuous": 0}  # 3 seeds do not settle the first
    assert found["records"][0]["seeds"] == 3
    assert found["records"][0]["claims"][1]["verdict"] == "fails"


def reused(featavg, folder, *arguments):
    return json.loads(featavg("reproduce", "growing", "-o", folder, "--json", *arguments)[1])["records"][0]["reused"]


def test_finished_records_of_the_same_run_are_reused(featavg, tmp_path):
    assert not reused(featavg, tmp_path)
    assert reused(featavg, tmp_path)
    assert "growing: reused" in featavg("reproduce", "-o", tmp_path)[2]
    assert not reused(featavg, tmp_path, "--fresh")
    assert not reused(featavg, tmp_path, "--seeds", "4")
    record = tmp_path / "growing.json"
    assert reused(featavg, tmp_path, "--seeds", "4")
    record.write_text(record.read_text().replace('"featavg": "', '"featavg": "9.'))
    assert not reused(featavg, tmp_path, "--seeds", "4")
    record.write_text(record.read_text()[:-20])
    assert not reused(featavg, tmp_path, "--seeds", "4")


def test_names_may_be_written_with_hyphens_and_long_claims_run_when_named(featavg, tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_SECONDS", "0")
    sys.modules.pop("toy_claims.slow_one", None)
    code, _, _ = featavg("reproduce", "slow-one", "slow_one", "-o", tmp_path)
    assert code == 0
    assert (tmp_path / "slow_one.json").exists()
    found = json.loads(featavg("reproduce", "--full", "--json", "-o", tmp_path)[1])
    assert [record["name"] for record in found["records"]] == ["growing", "slow_one"]
    sys.modules.pop("toy_claims.slow_one")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["growin"], "no claim is called 'growin'; did you mean growing\n"),
        (["slwo-one"], "no claim is called 'slwo-one'; did you mean slow_one\n"),
        (["zzz"], "no claim is called 'zzz'; there are growing, slow_one\n"),
        (["--seeds", "0"], "seeds must be at least 1, got 0; 5 or more give confidence intervals worth the name\n"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(featavg, tmp_path, arguments, sentence):
    assert featavg("reproduce", *arguments, "-o", tmp_path) == (2, "", sentence)
    assert not list(tmp_path.iterdir())


def test_an_unwritable_folder_is_refused_before_anything_runs(featavg, tmp_path):
    (tmp_path / "file").touch()
    code, output, errors = featavg("reproduce", "slow-one", "-o", tmp_path / "file" / "runs")
    assert (code, output) == (2, "")
    assert errors.startswith("cannot write to the folder")
    assert errors.count("\n") == 1


def test_report_redraws_from_records_and_refuses_broken_ones(featavg, tmp_path):
    featavg("reproduce", "-o", tmp_path)
    page = tmp_path / "page.html"
    assert featavg("report", tmp_path, "-o", page) == (0, f"{page}\n", "")
    text = page.read_text(encoding="utf-8")
    assert text == (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;" in text
    # The lab's states and the lab's script, and nothing of what a record says.
    assert re.findall("<script[^>]*>", text) == ['<script type="application/json" id="lab-content">', "<script>"]
    (tmp_path / "zz.json").write_text("{")
    code, _, errors = featavg("report", tmp_path, "-o", page)
    assert (code, errors) == (2, f"{tmp_path / 'zz.json'} is cut short or no record; run its claim again\n")
    code, _, errors = featavg("reproduce", "-o", tmp_path)
    assert code == 0
    assert "left out of the report" in errors


def test_report_of_nothing_is_refused(featavg, tmp_path):
    assert featavg("report", tmp_path)[0] == 2
    assert "no folder of records" in featavg("report", tmp_path / "none")[2]


def start(*arguments, **environment):
    # A shell that starts jobs in the background makes them deaf to Ctrl-C; the first line gives them their ears back.
    script = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"sys.path.insert(0, {str(HERE)!r})\n"
        "from featavg.cli import main; main(sys.argv[1:], experiments='toy_claims')"
    )
    command = [sys.executable, "-c", script, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env={**os.environ, **environment}, **pipes)


def test_ctrl_c_keeps_finished_records_and_the_next_run_goes_on(tmp_path):
    process = start("reproduce", "growing", "slow-one", "-o", tmp_path)
    give_up = time.monotonic() + 60
    while not (tmp_path / "growing.json").exists() and time.monotonic() < give_up:
        time.sleep(0.05)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, "")
    assert errors.endswith("stopped; 1 finished record kept, run again to go on\n")
    assert "Traceback" not in errors
    assert {path.name for path in tmp_path.iterdir()} == {"growing.json", "growing.npz"}
    process = start("reproduce", "growing", "slow-one", "-o", tmp_path, "--json", TOY_SECONDS="0")
    output, _ = process.communicate(timeout=60)
    assert [record["reused"] for record in json.loads(output)["records"]] == [True, False]


def parts_of(folder, name="slow_one"):
    """A record but for how long it took."""
    content = json.loads((folder / f"{name}.json").read_text())
    seconds = content.pop("seconds")
    return json.dumps(content), (folder / f"{name}.npz").read_bytes(), seconds


def finished(folder, log, seeds):
    """Run the slow chapter to its end, a fifth of a second and a bit per seed; which seeds were measured."""
    log.unlink(missing_ok=True)
    arguments = ("reproduce", "slow-one", "--seeds", str(seeds), "-o", folder, "--json")
    process = start(*arguments, TOY_SECONDS="0.25", TOY_LOG=str(log))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return [int(seed) for seed in log.read_text().split()]


@pytest.mark.parametrize("signal_sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_killed_run_goes_on_with_the_seeds_that_are_missing(tmp_path, signal_sent):
    log, killed, whole = tmp_path / "log", tmp_path / "killed", tmp_path / "whole"
    assert finished(whole, log, 6) == [0, 1, 2, 3, 4, 5]
    log.unlink()
    arguments = ("reproduce", "slow-one", "--seeds", "5", "-o", killed)
    process = start(*arguments, TOY_SECONDS="0.25", TOY_LOG=str(log))
    give_up = time.monotonic() + 60
    while not (log.exists() and "2" in log.read_text()) and time.monotonic() < give_up:
        time.sleep(0.01)
    process.send_signal(signal_sent)
    process.communicate(timeout=60)
    assert process.returncode
    assert [path.name for path in killed.iterdir()] == ["slow_one.rows.npz"]
    assert finished(killed, log, 6) == [2, 3, 4, 5]  # two were kept, and one seed more than before is asked for
    assert sorted(path.name for path in killed.iterdir()) == ["report.html", "slow_one.json", "slow_one.npz"]
    *record, seconds = parts_of(killed)
    *expected, _ = parts_of(whole)
    assert record == expected
    assert seconds >= 6 * 0.25  # of both parts


def test_more_seeds_than_the_record_has_are_added_to_it_unless_anything_else_differs(tmp_path):
    log, folder, whole = tmp_path / "log", tmp_path / "more", tmp_path / "whole"
    assert finished(folder, log, 2) == [0, 1]
    assert finished(folder, log, 4) == [2, 3]
    assert finished(whole, log, 4) == [0, 1, 2, 3]
    assert parts_of(folder)[:2] == parts_of(whole)[:2]
    record = folder / "slow_one.json"
    for key, value in {
        "code": "0" * 64,
        "versions": {"featavg": "0"},
        "config": {"seconds": 9, "first_seed": 0},
    }.items():
        content = json.loads((whole / "slow_one.json").read_text())
        record.write_text(json.dumps({**content, key: value}))
        assert finished(folder, log, 5) == [0, 1, 2, 3, 4], key


def test_a_checkpoint_of_other_code_or_cut_short_is_not_used(featavg, tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_SECONDS", "0")
    sys.modules.pop("toy_claims.slow_one", None)
    slow_one = importlib.import_module("toy_claims.slow_one")
    measure, kept = slow_one.measure, tmp_path / "slow_one.rows.npz"

    def interrupted(config, seed, progress):
        if seed == 2:
            raise KeyboardInterrupt
        return measure(config, seed, progress)

    monkeypatch.setattr(slow_one, "measure", interrupted)
    run = ("reproduce", "slow-one", "--seeds", "4", "-o", tmp_path)
    assert featavg(*run)[0] == 130
    arrays = read_npz(kept)
    about = json.loads(str(arrays["about"]))
    assert about["rows"] == [["", 0], ["", 1]]
    assert sorted(arrays) == ["0/early", "0/grid", "0/one", "1/grid", "1/one", "about"]
    arrays["0/one"] = np.array(7.0)  # a number that shows where it is taken

    def left(bytes_, *more):
        monkeypatch.setattr(slow_one, "measure", measure)
        kept.write_bytes(bytes_)
        assert featavg(*run, *more)[0] == 0
        assert not kept.exists()
        ones = read_record(tmp_path / "slow_one.json").evidence.table["one"].tolist()
        (tmp_path / "slow_one.json").unlink()
        return ones

    packed = pack_npz(arrays)
    assert left(packed) == [7.0, 1.0, 1.0, 1.0]
    assert left(packed, "--fresh") == [1.0] * 4
    assert left(packed[:-30]) == [1.0] * 4
    about["run"] = about["run"].replace('"first_seed": 0', '"first_seed": 1')
    assert left(pack_npz({**arrays, "about": np.array(json.dumps(about))})) == [1.0] * 4
    sys.modules.pop("toy_claims.slow_one")
