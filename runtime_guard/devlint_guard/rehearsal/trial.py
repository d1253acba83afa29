"""Changes are tried before one is printed: the program is rehearsed with each of them, in a process of its own.

A trial runs to the failing step and three more. It has to put as many operators on the devices as the first run did
until it failed: a change that takes everything back to the CPU mends nothing. If the program then fails elsewhere, the
first change for that error joins, up to `DEEPEST` of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final

from devlint_guard.finding import Advice, Change, Finding, Place
from devlint_guard.program.frames import shown_path
from devlint_guard.rehearsal.machine import Program
from devlint_guard.report.json import decoded

MOST_RUNS: Final = 10
LONGEST: Final = 60.0
"""The first run may take so many seconds; a program that takes longer is not run again."""

DEEPEST: Final = 4
FURTHER_STEPS: Final = 3
_LAUNCHERS: Final = ("torch.distributed.run", "torch.distributed.launch")
_GOOD: Final = ("JUDGED", "NOT_ALL_JUDGED", "TIMEOUT")
_COMMAND: Final = "from devlint_guard.rehearsal.proving import main; main()"

Texts = dict[str, str]
"""The changed files by absolute path."""


@dataclass(slots=True)
class Trial:
    """Tries changes of one program.

    Attributes:
        program: it.
        folder: where the program began.
        environment: with which it began.
        began: when.
    """

    program: Program
    folder: str = field(default_factory=os.getcwd)
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    began: float = field(default_factory=time.monotonic)

    def tried(self, finding: Finding, steps: int, operators: int) -> Finding:
        """A finding with the first change after which the program runs on; without one, it proposes no change.

        Args:
            finding: with its advice.
            steps: so many steps of optimizers were done when the program failed.
            operators: so many operators had run on the devices then.
        """
        seconds = time.monotonic() - self.began
        advice = finding.advice or ((Advice("", finding.changes),) if finding.changes else ())
        waiting = deque((one, self._applied({}, one.changes), 1) for one in advice)
        is_distributed = self.program.target in _LAUNCHERS or "RANK" in self.environment
        if not waiting or seconds > LONGEST or is_distributed:
            return finding
        count = f"{len(waiting)} changes" if len(waiting) > 1 else "a change"
        text = f"devlint: trying {count}: the program runs again; `--no-try` switches this off"
        print(text, file=sys.stderr, flush=True)
        runs = 0
        while waiting and runs < MOST_RUNS:
            first, texts, depth = waiting.popleft()
            if texts is None:
                continue
            runs += 1
            answer = self._run(texts, steps, 3 * seconds + 30)
            if answer["outcome"] in _GOOD and answer.get("operators", operators) >= operators:
                return self._mended(finding, first, texts, answer)
            if answer["outcome"] == "DEVICE_ERROR" and depth < DEEPEST:
                waiting.append((first, self._joined(finding, texts, answer), depth + 1))
        several = f"{runs} changes were tried, none of which lets"
        told = f"{several if runs > 1 else 'a change was tried, which does not let'} the program run on"
        return replace(finding, changes=(), help=(), tried=told)

    def _mended(self, finding: Finding, advice: Advice, texts: Texts, answer: Mapping[str, Any]) -> Finding:
        is_whole = str(answer.get("ending", "")).endswith("ran to its end")
        operands = finding.operands
        if advice.cause is not None and operands and advice.cause not in operands[0].history:
            operands = (replace(operands[0], history=(advice.cause,)), *operands[1:])
        return replace(
            finding,
            changes=tuple(_changes(texts)),
            help=(advice.text,) if advice.text else finding.help[:1],
            operands=operands,
            tried="the program then runs to its end" if is_whole else "the program then runs on",
        )

    def _joined(self, finding: Finding, texts: Texts, answer: Mapping[str, Any]) -> Texts | None:
        """The files with the first change for the error that a trial ended with too, if that is another error."""
        found = answer.get("finding")
        other = None if found is None else decoded(Finding, found)
        if other is None or not other.changes or other.place is None or finding.place is None:
            return None
        path = self._path(other.place.file)
        line = _line_before(path, texts.get(path), other.place.line)
        is_same = (path, line) == (self._path(finding.place.file), finding.place.line)
        return None if is_same and other.operands[:1] == finding.operands[:1] else self._applied(texts, other.changes)

    def _run(self, texts: Texts, steps: int, seconds: float) -> dict[str, Any]:
        program = self.program._replace(steps=min(steps + FURTHER_STEPS, self.program.steps or sys.maxsize))
        contents = {path: text.encode().decode("latin-1") for path, text in texts.items()}
        with tempfile.TemporaryDirectory() as name:
            asked, answer = Path(name) / "request.json", Path(name) / "answer.json"
            asked.write_text(json.dumps({"program": program._asdict(), "texts": contents, "is_trial": True}))
            command = [sys.executable, "-c", _COMMAND, str(asked), str(answer)]
            quiet = subprocess.DEVNULL
            options: dict[str, Any] = {"cwd": self.folder, "env": self.environment, "timeout": seconds}
            try:
                subprocess.call(command, stdin=quiet, stdout=quiet, stderr=quiet, **options)
            except subprocess.TimeoutExpired:
                return {"outcome": "TIMEOUT"}
            found: dict[str, Any] = json.loads(answer.read_text()) if answer.exists() else {}
        return {"outcome": "FAILED", **found}

    def _path(self, file: str) -> str:
        return os.path.abspath(os.path.join(self.folder, file))

    def _applied(self, texts: Texts, changes: Sequence[Change]) -> Texts | None:
        """The files with changes of lines; None where a line is another one."""
        texts = dict(texts)
        for change in sorted(changes, key=lambda one: -one.place.line):
            path = self._path(change.place.file)
            if path not in texts:
                texts[path] = Path(path).read_text(encoding="utf-8")
            lines = texts[path].split("\n")
            index = change.place.line - 1
            if index >= len(lines) or lines[index].rstrip("\r") != change.before.rstrip("\r"):
                return None
            lines[index] = change.after
            texts[path] = "\n".join(lines)
        return texts


def _opcodes(before: Sequence[str], after: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, before, after, autojunk=False).get_opcodes()


def _changes(texts: Texts) -> Iterator[Change]:
    """The lines that differ between files as they are and changed ones."""
    for path, text in texts.items():
        old, new = Path(path).read_text(encoding="utf-8").split("\n"), text.split("\n")
        for kind, first, last, start, end in _opcodes(old, new):
            if kind == "insert":  # before the line that follows
                last, end = last + 1, end + 1
            for index in range(first, last) if kind != "equal" else ():
                is_last = index == last - 1
                lines = new[start + index - first : end if is_last else start + index - first + 1]
                place = Place(shown_path(path), index + 1, 0, index + 1)
                yield Change(place, old[index], "\n".join(lines))


def _line_before(path: str, text: str | None, line: int) -> int:
    """The number that a line of a changed file has in the file as it is."""
    if text is None:
        return line
    for _, first, last, start, end in _opcodes(Path(path).read_text(encoding="utf-8").split("\n"), text.split("\n")):
        if start <= line - 1 < end:
            return first + 1 + min(line - 1 - start, max(last - first - 1, 0))
    return line
