"""`--diff-base`: reports that are new since a commit, in repositories of git."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.git import commit, git
from tests.cli.stand_in import Shell

CODE = "import torch\nclash\n\nraw_cuda\n"


class Repository(Shell):
    """The command line in a git repository."""

    def git(self, *arguments: str) -> None:
        git(self.folder, *arguments)

    def commit(self) -> None:
        commit(self.folder)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository(tmp_path, monkeypatch)
    made.git("init", "-q", "-b", "main", ".")
    made.write("a.py", CODE)
    made.commit()
    return made


def _since(shell: Shell, base: str, *paths: str) -> list[str]:
    return shell.concise("--diff-base", base, *paths)


def test_a_report_of_the_commit_is_not_new(repository: Repository) -> None:
    assert repository.concise() == ["a.py:2:1: DEV101", "a.py:4:1: DEV302"]
    assert _since(repository, "main") == []


def test_a_changed_line_is_reported_wherever_it_moves(repository: Repository) -> None:
    repository.write("a.py", "import torch\n# a new line\nclash\n\nraw_cuda + 1\n")
    assert _since(repository, "main") == ["a.py:5:1: DEV302"]


def test_a_new_file_and_a_staged_change_count_as_changed(repository: Repository) -> None:
    repository.write("new.py", CODE)
    repository.write("a.py", CODE + "clash\n")
    repository.git("add", "-A")
    assert _since(repository, "main") == ["a.py:5:1: DEV101", "new.py:2:1: DEV101", "new.py:4:1: DEV302"]


def test_the_base_is_the_last_common_commit(repository: Repository) -> None:
    repository.git("checkout", "-q", "-b", "feature")
    repository.write("a.py", CODE + "clash\n")
    repository.commit()
    repository.git("checkout", "-q", "main")
    repository.write("a.py", "import torch\n\n\nraw_cuda\n")
    repository.commit()
    repository.git("checkout", "-q", "feature")
    assert _since(repository, "main") == ["a.py:5:1: DEV101"]
    assert _since(repository, "HEAD") == []


def test_paths_may_be_named_from_a_folder_below(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.write("sub/b.py", CODE)
    repository.commit()
    repository.write("sub/b.py", CODE + "clash\n")
    monkeypatch.chdir(repository.folder / "sub")
    assert _since(repository, "main", "..") == ["b.py:5:1: DEV101"]


def test_a_notebook_is_compared_by_its_code(repository: Repository) -> None:
    def notebook(*lines: str) -> str:
        cell: dict[str, object] = {
            "cell_type": "code",
            "source": list(lines),
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    repository.write("n.ipynb", notebook("import torch\n", "clash\n"))
    repository.commit()
    repository.write("n.ipynb", notebook("import torch\n", "raw_cuda\n", "clash\n"))
    assert _since(repository, "main") == ["n.ipynb:cell 1:2:1: DEV302"]


def test_a_file_that_cannot_be_analysed_is_always_an_error(repository: Repository) -> None:
    repository.write("a.py", "import torch\nx = (\n")
    repository.commit()
    result = repository.run("check", "--diff-base", "main")
    assert result.exit_code == 2
    assert "DEV901" in result.stdout


@pytest.mark.parametrize("then", [b"x = 1\nx = '\xff'\n", b"def f(:\n", b""], ids=["no text", "no Python", "empty"])
def test_all_reports_are_new_where_the_base_has_no_program(repository: Repository, then: bytes) -> None:
    (repository.folder / "b.py").write_bytes(then)
    repository.commit()
    repository.write("b.py", CODE)
    assert _since(repository, "HEAD") == ["b.py:2:1: DEV101", "b.py:4:1: DEV302"]


PROGRAMS = (
    *("core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.askPass", "core.editor", "core.pager"),
    *("core.alternateRefsCommand", "credential.helper", "sequence.editor", "interactive.diffFilter", "gpg.program"),
    *("diff.external", "diff.evil.command", "diff.evil.textconv", "merge.evil.driver", "pager.cat-file"),
    *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "uploadpack.packObjectsHook"),
    *("remote.origin.uploadpack", "alias.rev-parse", "alias.cat-file", "trailer.x.command", "man.viewer.cmd"),
)
"""Keys of a configuration of git whose values git takes for commands."""

HOOKS = ("post-checkout", "post-index-change", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman")


@pytest.fixture(params=["this git", "a git that knows no GIT_NO_LAZY_FETCH"])
def any_git(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Lets devlint find the git that is installed, or one that behaves as it did before 2.45."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "this git":
            program = tmp_path_factory.mktemp("old") / "git"
            program.write_text(f'#!/bin/sh\nunset GIT_NO_LAZY_FETCH\nexec {shutil.which("git")} "$@"\n')
            program.chmod(0o755)
            patch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        yield


@pytest.mark.usefixtures("any_git")
@pytest.mark.parametrize("address", ["ext::{}", "ssh://nowhere.invalid/x", "git://nowhere.invalid/x", "file://{top}"])
def test_no_program_of_a_repository_runs(repository: Repository, tmp_path: Path, address: str) -> None:
    """The content of a file is missing, and every key and hook that names a program names one that leaves a mark."""
    mark, evil = tmp_path.parent / f"{tmp_path.name}-ran", tmp_path.parent / f"{tmp_path.name}-evil"
    evil.write_text(f"#!/bin/sh\ntouch {mark}\n")
    evil.chmod(0o755)
    blob = git(repository.folder, "rev-parse", "HEAD:a.py")
    (repository.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    (repository.folder / ".git" / "hooks").mkdir(exist_ok=True)
    for hook in HOOKS:
        (repository.folder / ".git" / "hooks" / hook).symlink_to(evil)
    repository.write(".gitattributes", "*.py filter=evil diff=evil merge=evil\n")
    repository.write("a.py", CODE + "clash\n")
    values = {key: str(evil) for key in PROGRAMS} | {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.partialCloneFilter": "blob:none",
        "remote.origin.url": address.format(evil, top=repository.folder),
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
    }
    for key, value in values.items():
        repository.git("config", key, value)
    with pytest.raises(subprocess.CalledProcessError):
        git(repository.folder, "cat-file", "blob", blob)
    assert mark.exists()
    mark.unlink()
    assert _since(repository, "main") == ["a.py:2:1: DEV101", "a.py:4:1: DEV302", "a.py:5:1: DEV101"]
    assert not mark.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--diff-base", "mian"], 'error: --diff-base: "mian" is no branch, tag or commit of this repository'),
        (["--diff-base", "--all"], 'error: --diff-base: "--all" is no branch, tag or commit of this repository'),
        (["--diff-base", "alone"], 'error: --diff-base: HEAD and "alone" have no common commit here'),
        (["--diff-base", "main", "--fix"], "error: --diff-base cannot be combined with fixes"),
        (["--diff-base", "main", "--diff"], "error: --diff-base cannot be combined with fixes"),
    ],
)
def test_what_cannot_be_compared_is_an_error(repository: Repository, arguments: list[str], message: str) -> None:
    repository.git("checkout", "-q", "--orphan", "alone")
    repository.write("other.txt", "so that this commit is another one\n")
    repository.commit()
    repository.git("checkout", "-q", "main")
    result = repository.run("check", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(message)


def test_a_shallow_clone_is_told_to_fetch(repository: Repository, tmp_path_factory: pytest.TempPathFactory) -> None:
    repository.git("branch", "base")
    repository.write("b.py")
    repository.commit()
    clone = tmp_path_factory.mktemp("clone")
    repository.git("clone", "-q", "--depth", "1", repository.folder.as_uri(), str(clone))
    os.chdir(clone)
    result = repository.run("check", "--diff-base", "base")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith("of this repository; this clone is shallow: fetch its history\n")


def test_without_a_repository_there_is_nothing_to_compare_with(shell: Shell) -> None:
    shell.write("a.py")
    result = shell.run("check", "--diff-base", "main")
    assert (result.exit_code, result.stderr) == (
        2,
        "error: --diff-base: the working folder is in no git repository\n",
    )


def test_git_may_refuse_a_repository_of_somebody_else(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    result = repository.run("check", "--diff-base", "main")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: --diff-base: git says: detected dubious ownership in repository at ")
    assert "git config --global --add safe.directory" in result.stderr


def test_without_git_the_error_says_so(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository.folder))
    result = repository.run("check", "--diff-base", "main")
    assert (result.exit_code, result.stderr) == (2, "error: --diff-base: git is not installed\n")


def test_a_program_of_the_repository_is_not_taken_for_git(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path_factory.mktemp("mark") / "ran"
    repository.write("git", f"#!/bin/sh\ntouch {mark}\n").chmod(0o755)
    for path in (".", str(repository.folder)):
        monkeypatch.setenv("PATH", f"{path}{os.pathsep}{os.environ['PATH']}")
        result = repository.run("check", "--diff-base", "main")
        assert (result.exit_code, result.stderr) == (2, "error: --diff-base: git is not installed\n")
    assert not mark.exists()


def test_a_file_of_another_repository_is_an_error(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other") / "b.py"
    other.write_text(CODE)
    result = repository.run("check", "--diff-base", "main", str(other))
    assert result.exit_code == 2
    assert "--diff-base: is not in the repository of the working folder" in result.stderr
