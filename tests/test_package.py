"""The built wheel, installed elsewhere and run from another folder: a file that was left out shows."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
USE = """
import featavg as fa, featavg, pathlib, sys
assert pathlib.Path(featavg.__file__).is_relative_to(sys.argv[1]), featavg.__file__
data = fa.sample_clusters(clusters=4, dim=10**9, samples=50, seed=0)
run = fa.train(fa.BinaryNetwork.random(data, 2, seed=1), data, fa.GradientDescent(steps=20))
assert fa.averaging_index(run.final, data).shape == (4,)
fa.save_network(run.final, "net.npz")
assert fa.load_network("net.npz").neurons == 4
print("used")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--no-compile", "--quiet"]
    subprocess.run([*install, "--disable-pip-version-check", "--target", str(folder), str(wheel)], check=True)
    return folder


def elsewhere(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run python in `folder`, with the installed package before all others."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run(
        [sys.executable, "-P", *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    kept = {".py", ".pyi", ".css", ".typed", ".json", ".gz", ".js", ".html", ".txt", ".md", ".safetensors"}
    here = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "featavg").rglob("*")
        if path.suffix in kept or path.name == "py.typed"
    }
    assert inside == here


def test_the_installed_package_is_used_from_another_folder(installed: Path, tmp_path: Path) -> None:
    done = elsewhere(installed, tmp_path, "-c", USE, str(installed))
    assert (done.returncode, done.stdout.strip()) == (0, "used"), done.stderr


def test_the_installed_page_has_its_style(installed: Path, tmp_path: Path) -> None:
    assert (installed / "featavg" / "report" / "style.css").read_text() == (
        ROOT / "featavg" / "report" / "style.css"
    ).read_text()
    done = elsewhere(installed, tmp_path, "-c", "import featavg.report")
    assert done.returncode == 0, done.stderr


def test_the_installed_door_opens(installed: Path, tmp_path: Path) -> None:
    done = elsewhere(installed, tmp_path, "-c", "from featavg.cli import main; main(['--help'])")
    assert done.returncode == 0, done.stderr
    assert "reproduce" in done.stdout
