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
        package: name and version as pip pins them: `torchmetrics==1.9.0`; `owner/name@commit` of a repository.
        path: the file inside the installed package, or the repository.
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
    """A pinned package, or a repository of programs.

    Attributes:
        requirement: name and version as pip pins them; `owner/name@commit` on GitHub.
        module: its folder in the wheel; `.` is all of a repository.
        group: "worked with" if false alarms in it have been looked for and mended over and over, "later" and
            "applications" if its reports were filed as they were after the alarms of one reading had been mended.
    """

    requirement: str
    module: str
    group: str

    @property
    def is_repository(self) -> bool:
        """Whether it is a repository."""
        return "@" in self.requirement

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        return self.requirement.split("@")[0].rpartition("/")[2] if self.is_repository else self.module


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
