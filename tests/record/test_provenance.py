"""The commit that a record cites is that of the package which made it, or the record says that it is not."""

import subprocess
import sys
from dataclasses import dataclass
from types import ModuleType

import pytest

from featavg.experiments import Chapter, reproduction
from featavg.record.provenance import code_digest, commit_of, current_commit


def git(folder, *arguments):
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    answer = subprocess.run(["git", "-C", str(folder), *author, *arguments], capture_output=True, text=True, check=True)
    return answer.stdout.strip()


def committed(folder):
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "--message", "all")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "project" / "featavg"
    (folder / "record").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "record" / "claim.py").write_text("level = 0.95\n")
    return folder


@pytest.fixture
def commit(package):
    return committed(package.parent)


def test_a_committed_package_is_its_commit_whatever_lies_beside_it(package, commit):
    assert commit_of(package) == commit
    (package.parent / "results").mkdir()
    (package.parent / "results" / "averaging.json").write_text("{}")
    assert commit_of(package) == commit


def test_an_edited_file_is_a_change(package, commit):
    (package / "record" / "claim.py").write_text("level = 0.5\n")
    assert commit_of(package) == f"{commit}+changes"
    git(package, "add", ".")
    assert commit_of(package) == f"{commit}+changes"


@pytest.mark.parametrize("shown", ["all", "no"])
def test_a_new_file_is_a_change_even_where_git_is_told_to_keep_quiet_about_it(package, commit, shown):
    git(package, "config", "status.showUntrackedFiles", shown)
    (package / "record" / "secret.py").write_text("level = 0.5\n")
    assert commit_of(package) == f"{commit}+changes"


def test_a_removed_file_is_a_change(package, commit):
    (package / "record" / "claim.py").unlink()
    assert commit_of(package) == f"{commit}+changes"


def test_a_package_outside_any_checkout_is_unknown(package):
    assert commit_of(package) == "unknown"


@pytest.mark.parametrize("added", ["other.py", "."])
def test_a_package_in_an_environment_inside_another_project_is_unknown(package, added):
    """Even if that project has committed its environment."""
    (package.parent.parent / "other.py").write_text("")
    git(package.parent.parent, "init")
    git(package.parent.parent, "add", added)
    git(package.parent.parent, "commit", "--message", "other")
    assert commit_of(package) == "unknown"


@pytest.mark.parametrize("ignored", [False, True])
def test_a_package_put_beside_the_files_of_another_project_is_unknown(package, ignored):
    (package.parent / ".gitignore").write_text("featavg/\n" if ignored else "")
    git(package.parent, "init")
    git(package.parent, "add", ".gitignore")
    git(package.parent, "commit", "--message", "other")
    assert commit_of(package) == "unknown"


def test_a_hook_of_another_repository_does_not_lend_its_commit(package, commit, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("")
    assert committed(other) != commit
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert commit_of(package) == commit


def test_without_git_it_is_unknown(package, commit, monkeypatch):
    monkeypatch.setenv("PATH", str(package))
    assert commit_of(package) == "unknown"


@dataclass(frozen=True)
class Config:
    seeds: int = 1
    first_seed: int = 0


def test_a_run_cites_the_tree_that_it_was_started_from(monkeypatch, tmp_path):
    """Not what was committed, or edited, while it ran."""
    order = []

    def measure():
        order.append("measure")
        return {"one": 1.0}

    module = ModuleType("toy")
    module.__dict__.update(Config=Config, COLUMNS={"one": "one"}, measure=measure)
    monkeypatch.setitem(sys.modules, "toy", module)
    monkeypatch.setattr(reproduction, "current_commit", lambda: order.append("commit"))
    chapter = Chapter("toy", "toy", "Toy.", ("quick", 1), ())
    list(reproduction.reproduce([chapter], tmp_path, lambda _: lambda *told: None))
    assert order == ["commit", "measure"]
    assert current_commit() is current_commit()


def test_the_digest_of_code_sees_every_byte_and_every_name_but_not_what_python_compiled(tmp_path):
    (tmp_path / "chapter.py").write_text("SCALE = 1.0\n")

    def digest():
        code_digest.cache_clear()
        return code_digest(tmp_path)

    first = digest()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "chapter.pyc").write_bytes(b"compiled")
    assert digest() == first != code_digest()
    (tmp_path / "chapter.py").write_text("SCALE = 1.1\n")
    assert digest() != first
    (tmp_path / "chapter.py").write_text("SCALE = 1.0\n")
    assert digest() == first
    (tmp_path / "chapter.py").rename(tmp_path / "other.py")
    assert digest() != first
