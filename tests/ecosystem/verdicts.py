"""The filed verdicts: what a reader found a diagnostic on a pinned package to be."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("verdicts.jsonl")
PACKAGES = Path(__file__).with_name("packages.txt")


@dataclass(frozen=True, slots=True)
class Filed:
    """One diagnostic and its verdict.

    Attributes:
        package: name and version as pip pins them: `torchmetrics==1.9.0`.
        path: the file inside the installed package.
        line: where it is reported.
        code: `DEV103`.
        true: the promise of the diagnostic holds: the program would raise, or break on another machine.
        reason: why the reader thinks so.
        second: the verdict of a second reader who did not know the first one; None if there was none.
    """

    package: str
    path: str
    line: int
    code: str
    true: bool
    reason: str
    second: bool | None = None

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What identifies the diagnostic."""
        return (self.package, self.path, self.line, self.code)


def read_verdicts(file: Path = FILE) -> list[Filed]:
    """Reads the data file; raises TypeError or ValueError for a row that is none."""
    return [Filed(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines() if line]


@dataclass(frozen=True, slots=True)
class Package:
    """A pinned package.

    Attributes:
        requirement: name and version as pip pins them.
        module: its folder in the wheel.
        group: "worked with" if false alarms in it have been looked for and mended over and over, "later" if its
            reports were filed as they were after the alarms of one reading had been mended.
    """

    requirement: str
    module: str
    group: str


def read_packages(file: Path = PACKAGES) -> list[Package]:
    """The pinned packages, each under the heading of its group."""
    found, group = [], ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            group = line.removeprefix("## ")
        elif line and line[0] != "#":
            requirement, module = line.split()
            found.append(Package(requirement, module, group))
    return found
