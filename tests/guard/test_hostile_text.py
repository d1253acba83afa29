"""Names and lines of a program that somebody else wrote, in what the guard prints and writes."""

from __future__ import annotations

import json
import linecache
import os
import sys
import unicodedata
from pathlib import Path

import pytest
from devlint import quoting as linters
from devlint_guard.errors import GuardUsageError
from devlint_guard.finding import Finding, Operand, Place, Role, Step
from devlint_guard.program import quoting
from devlint_guard.report import files, text
from devlint_guard.report import json as as_json
from devlint_guard.report.record import Direction, Record, Transfer

ACTING = "\x1b[2J\x07\x9b31m\u202e\u2066\u2028\r" + os.fsdecode(b"\xff")
NAME = f"{ACTING}\n::error::x##[error]y"


def acts(shown: str) -> set[str]:
    return {
        one
        for one in shown
        if unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(one)[1:] in ("LO", "LI")
    } - {"\n", "\t"}


def hostile() -> Record:
    place = Place(f"{NAME}.py", 1, 1, 1, 2, NAME)
    operand = Operand(NAME, Role.VARIABLE, NAME, NAME, NAME, place, (Step(NAME, place),), True)
    finding = Finding("DEV101", NAME, place, NAME, NAME, (operand,), NAME, (NAME,))
    transfer = Transfer(place, NAME, Direction.TO_HOST, NAME, 1, 1, 1)
    return Record("2.13", "3.11", findings=(finding,), suspects=(finding,), transfers=(transfer,))


def test_a_finding_can_only_be_read() -> None:
    finding = hostile().findings[0]
    linecache.cache[f"{NAME}.py"] = (1, None, [f"x = 1  # {ACTING}\n"], f"{NAME}.py")
    shown = text.render(finding)
    assert r"x = 1  # \x1b[2J\x07" in shown
    assert acts(shown) == set()
    assert not any(line.lstrip().startswith("::") or "##[" in line for line in shown.splitlines())


@pytest.mark.parametrize("name", ["report.json", "report.html", "report.txt"])
def test_a_report_can_be_encoded_and_only_be_read(tmp_path: Path, name: str) -> None:
    files.write(hostile(), tmp_path / name)
    shown = (tmp_path / name).read_bytes().decode("utf-8")
    assert acts(shown) == set()
    assert "##[" not in shown
    if name.endswith("json"):
        json.dumps(json.loads(shown), ensure_ascii=False).encode("utf-8")


def test_a_report_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "report.txt"
    file.write_text("before")
    file.chmod(0o600)

    def fail(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space"):
            files.write(hostile(), file)
    assert file.read_text() == "before"
    assert os.listdir(tmp_path) == ["report.txt"]
    files.write(hostile(), file)
    assert file.stat().st_mode & 0o777 == 0o600 or sys.platform == "win32"
    assert os.listdir(tmp_path) == ["report.txt"]


def test_a_report_goes_through_a_link_and_into_a_device(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("no such files there")
    (tmp_path / "link.txt").symlink_to("real.txt")
    files.write(hostile(), tmp_path / "link.txt")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text().startswith("devlint: DEV101")
    files.write(hostile(), Path(os.devnull))


@pytest.mark.parametrize("document", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000, "{}", '{"version": 1}'])
def test_what_is_no_report_is_an_error(document: str) -> None:
    with pytest.raises(GuardUsageError):
        as_json.read(document)


def test_linter_and_guard_quote_alike() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1))).replace("\t", "") + "##[x] ::y"
    assert quoting.printable(everything) == linters.printable(everything)
    assert quoting.printable_lines(everything) == linters.printable_lines(everything)
    assert quoting.encodable({NAME: [NAME, 1, None]}) == linters.encodable({NAME: [NAME, 1, None]})
