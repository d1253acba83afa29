"""What a file has besides its content stays, what cannot be kept is refused, and no temporary file is left behind."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from devlint.baseline import Baseline, Entry, read_baseline
from devlint.cli import devlint
from devlint.errors import OutputError
from devlint.writing import change_file

from tests.robustness.commands import MIXED, end, run, start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what a file has differs from system to system")

FIXED = MIXED.replace("ones(3)\n", 'ones(3, device="cuda:0")\n')


FIX = ("--fix", "--no-cache", "--isolated", "--select", "DEV101", ".")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "m.py").write_text(MIXED)
    return tmp_path


def _fix() -> Result:
    return CliRunner().invoke(devlint, ["check", *FIX])


def _names(project: Path) -> list[str]:
    return sorted(path.name for path in project.iterdir())


# --- what a file has ----------------------------------------------------------------------------------------


def _list_of_access() -> bytes:
    """An access control list as the kernel keeps it: the owner, one more user, the group, the mask, all others."""
    entries = [(0x01, 6, -1), (0x02, 4, 4242), (0x04, 4, -1), (0x10, 4, -1), (0x20, 0, -1)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)


def _set(path: Path, name: str, value: bytes) -> None:
    try:
        os.setxattr(path, name, value)
    except OSError:
        pytest.skip("this file system keeps no such attributes")


def _status(path: Path) -> tuple[object, ...]:
    status = os.stat(path)
    attributes = {name: os.getxattr(path, name) for name in os.listxattr(path) if not name.startswith("security.")}
    return status.st_uid, status.st_gid, status.st_mode, attributes


def test_mode_and_extended_attributes_stay(project: Path) -> None:
    file = project / "m.py"
    file.chmod(0o2754)
    _set(file, "user.comment", b"mine")
    _set(file, "system.posix_acl_access", _list_of_access())
    before = _status(file)
    assert _fix().exit_code == 0
    assert (file.read_text(), _status(file)) == (FIXED, before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_owner_and_group_stay(project: Path) -> None:
    file = project / "m.py"
    os.chown(file, 4242, 4343)
    file.chmod(0o6755)
    before = _status(file)
    assert _fix().exit_code == 0
    assert (file.read_text(), _status(file)) == (FIXED, before)


def _refusal_of_somebody_else(uid: int) -> str:
    """What `change_file` says to a user who is not the owner of all that root has made."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setresuid(uid, uid, uid)
            change_file(Path("m.py"), MIXED.encode(), FIXED.encode())
        except OutputError as error:
            os.write(writing, error.message.encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as told:
        return told.read()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
@pytest.mark.parametrize(
    ("owner", "mode", "mode_of_folder", "reason"),
    [
        (0, 0o666, 0o777, "its owner and group (0:0) cannot be kept"),
        (0, 0o644, 0o777, "it is read-only"),
        (4242, 0o444, 0o777, "it is read-only"),
        (4242, 0o644, 0o755, "its folder is read-only"),
    ],
)
def test_a_file_that_cannot_stay_as_it_is_is_refused(
    project: Path, owner: int, mode: int, mode_of_folder: int, reason: str
) -> None:
    os.chown("m.py", owner, 0)
    os.chmod("m.py", mode)
    project.chmod(mode_of_folder)
    assert _refusal_of_somebody_else(4242) == f"cannot be written: {reason}"
    assert ((project / "m.py").read_text(), _names(project)) == (MIXED, ["m.py", "pyproject.toml"])


def test_a_file_with_two_names_is_refused(project: Path) -> None:
    os.link(project / "m.py", project / "other")
    ended = _fix()
    assert ended.exit_code == 2
    assert "error: m.py: cannot be written: it has other names (hard links)" in ended.stderr
    assert "Fixed" not in ended.stderr
    assert (project / "m.py").read_text() == MIXED
    assert os.path.samefile(project / "m.py", project / "other")


def test_a_link_in_the_project_stays_one(project: Path) -> None:
    (project / "package").mkdir()
    (project / "m.py").rename(project / "package" / "real.txt")
    (project / "m.py").symlink_to("package/real.txt")
    assert _fix().exit_code == 0
    assert os.readlink(project / "m.py") == "package/real.txt"
    assert (project / "package" / "real.txt").read_text() == FIXED


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        (("--output-format", "json", "--output-file"), "report"),
        (("--output-format", "json", "--output-file"), "/dev/stdout"),
        (("show", "--html"), "/dev/null"),
    ],
)
def test_a_report_goes_to_a_file_or_a_device(project: Path, arguments: tuple[str, ...], target: str) -> None:
    is_device = target == "/dev/null"
    ended = run(project, *arguments, target, "m.py")
    assert "cannot be written" not in ended.stderr
    assert (len(ended.stdout) > 20) is (target == "/dev/stdout")
    assert stat.S_ISCHR(os.stat(target).st_mode) if is_device else (target[0] == "/" or _names(project)[-1] == "report")


def test_a_baseline_that_has_changed_meanwhile_is_not_overwritten(project: Path) -> None:
    path = project / "devlint-baseline.json"
    first, second = Baseline(path), Baseline(path)
    first.write()
    with pytest.raises(OutputError, match="has changed"):
        second.write()
    first, second = read_baseline(path, "b"), read_baseline(path, "b")
    entry = Entry("m.py", "DEV101", "mixed-device-operands", "f", "m")
    first.of([entry]).write()
    with pytest.raises(OutputError, match="has changed"):
        second.of([replace(entry, file="other.py")]).write()
    assert read_baseline(path, "b").entries == (entry,)


def test_init_writes_both_files_or_none(project: Path) -> None:
    os.link(project / "pyproject.toml", project / "other")
    ended = CliRunner().invoke(devlint, ["init"])
    assert ended.exit_code == 2
    assert "pyproject.toml: cannot be written: it has other names" in ended.stderr
    assert (_names(project), (project / "other").read_text()) == (["m.py", "other", "pyproject.toml"], "")


# --- somebody else at each step -----------------------------------------------------------------------------

STEPWISE = """\
import os, signal, sys
from pathlib import Path
from devlint.errors import OutputError
from devlint.writing import change_file

before, after, action = Path("before").read_bytes(), Path("after").read_bytes(), sys.argv[1]

def change(step):
    seen = []
    def hook(event, arguments):
        if seen[-1:] != ["own"] and not event.startswith(("import", "object", "compile", "exec", "marshal")):
            seen.append(event)
            if len(seen) == step:
                print(step, event, flush=True)
                seen.append("own")
                exec(action, {"os": os, "signal": signal})
                seen.pop()
    os.chdir(str(step))
    sys.addaudithook(hook)
    try:
        change_file(Path("m.py"), before, after)
    except OutputError:
        pass
    return len(seen) < step

step, over = 0, False
while not over:
    step += 1
    os.mkdir(str(step))
    Path(str(step), "m.py").write_bytes(before)
    child = os.fork()
    if not child:
        os._exit(change(step))
    over = os.waitpid(child, 0)[1] == 256
"""
"""Changes `m.py` in a folder for each step of that, and does something else before the step."""


def _at_each_step(project: Path, action: str) -> list[tuple[str, Path]]:
    """Returns each step, and what is `m.py` in the end if the action is done before the step."""
    (project / "before").write_text(MIXED)
    (project / "after").write_text(FIXED)
    (project / "m.py").unlink()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    arguments = [sys.executable, "-c", STEPWISE, action]
    ended = subprocess.run(arguments, cwd=project, env=env, capture_output=True, encoding="utf-8", check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    steps = [line.split(" ", 1) for line in ended.stdout.splitlines()]
    assert len(steps) > 10
    return [(event, project / step / "m.py") for step, event in steps]


def _left(project: Path) -> list[Path]:
    return list(project.rglob(".devlint-*"))


def test_a_killed_run_leaves_a_whole_file_and_the_next_one_works(project: Path) -> None:
    files = [file for _, file in _at_each_step(project, "os.kill(os.getpid(), signal.SIGKILL)")]
    assert {file.read_text() for file in files} == {MIXED, FIXED}
    assert {path.suffix for path in _left(project)} == {".partial"}
    assert _fix().exit_code == 0
    assert {file.read_text() for file in files} == {FIXED}


@pytest.mark.parametrize("error", ["OSError(28, 'No space left on device')", "PermissionError(13, 'It is open')"])
def test_a_failure_at_any_step_leaves_a_whole_file(project: Path, error: str) -> None:
    files = [file for _, file in _at_each_step(project, f"raise {error}")]
    assert {file.read_text() for file in files} == {MIXED, FIXED}
    assert len(_left(project)) <= 1  # where the last step of all, to remove a file, has failed


MEANWHILE = {
    "in-place": "open('m.py', 'w').write('mine')",
    "by-rename": "open('m~', 'w').write('mine'); os.replace('m~', 'm.py')",
    "folder": "os.remove('m.py'); os.mkdir('m.py')",
    "link": "os.remove('m.py'); os.symlink('/etc/passwd', 'm.py')",
    "pipe": "os.remove('m.py'); os.mkfifo('m.py')",
    "nothing": "os.remove('m.py')",
    "mode": "os.chmod('m.py', 0o600)",
    "hard link": "os.link('m.py', 'other')",
}


def _what_is(path: Path) -> str:
    if not os.path.lexists(path):
        return "nothing"
    status = os.lstat(path)
    kinds = {stat.S_IFDIR: "folder", stat.S_IFLNK: "link", stat.S_IFIFO: "pipe"}
    kind = kinds.get(stat.S_IFMT(status.st_mode))
    if kind is None and stat.S_IMODE(status.st_mode) == 0o600:
        return "mode"
    if kind is None and (path.parent / "other").exists():
        return "hard link" if os.path.samefile(path, path.parent / "other") else "two files"
    return kind or path.read_text()


@pytest.mark.parametrize("what", MEANWHILE)
def test_what_somebody_does_to_a_file_before_the_last_step_stays(project: Path, what: str) -> None:
    """The last step puts the new file in the place of the old one, immediately behind the comparison."""
    steps = _at_each_step(project, MEANWHILE[what])
    assert [event for event, _ in steps].count("os.rename") == 1
    wanted = "mine" if what in ("in-place", "by-rename") else what
    assert {_what_is(file) for event, file in steps if event != "os.rename"} == {wanted}
    assert _left(project) == []


def test_runs_at_the_same_time_remove_nothing_of_each_other(project: Path) -> None:
    for number in range(40):
        (project / f"m{number}.py").write_text(MIXED)
    ended = [end(process) for process in [start(project, *FIX) for _ in range(2)]]
    assert {path.read_text() for path in project.glob("m*.py")} == {FIXED}
    assert _left(project) == []
    assert not any("cannot be written" in one.stderr for one in ended)


def test_a_file_that_cannot_be_replaced_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, while another program has the file open."""

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Access is denied")

    monkeypatch.setattr(os, "replace", refuse)
    ended = _fix()
    assert "error: m.py: cannot be written: another program may have it open\n" in ended.stderr
    assert ((project / "m.py").read_text(), _names(project)) == (MIXED, ["m.py", "pyproject.toml"])
