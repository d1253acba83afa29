"""Run the guard's tests with other versions of torch: `python -m tests.guard.matrix VERSION …`.

For each version, one after the other, the script makes a virtual environment, installs exactly that torch with devlint
and the packages that the guard's tests use, runs `tests/guard` there, and removes the environment. At the end it prints
a Markdown table, and below the table the reason of each skip and of each failure. The exit code is 1 if a test fails
for no reason that `KNOWN` gives, or a version cannot be installed.

pip installs with the user's own settings. Where these offer no build for the CPU, torch brings its CUDA libraries
along, and one environment takes about 6 GB in the folder for temporary files. `PIP_CONSTRAINT` and the other variables
of pip work as always.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from tests.conftest import REPOSITORY, read_toml

USED = frozenset(
    "accelerate hypothesis jsonschema lightning numpy packaging pydantic pytest pytest-timeout pytest-xdist "
    "transformers".split()
)
"""The packages of the extra `test` that the guard's tests use; torch is pinned by the caller."""

OLDER = {"transformers": ((2, 6), "transformers<5")}
"""By the names of packages: the first release of torch that the newest one runs with, and what older ones need."""

KNOWN = (
    ((2, 10), "test_distributed_modules", "`fully_shard` does not run on the CPU"),
    ((2, 5), "boundary_of_a_compiled_region", "Dynamo calls a copy of the module, which has no path"),
    ((2, 11), r"error_of_pytorch\[12-40", "the sample is drawn from PyTorch's list of operators, which is another one"),
)
"""Failures of releases below the first: a pattern for the names of tests, and why they fail there."""


@dataclass(slots=True)
class Row:
    """The result of one version.

    Attributes:
        torch: the version that was asked for.
        python: the version that ran the tests; empty if the environment could not be made.
        passed: the number of tests that passed.
        failed: the names of tests that failed.
        skipped: how many tests were skipped, by reason.
        minutes: the time for the installation and the tests.
    """

    torch: str
    python: str = ""
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    minutes: float = 0.0

    @property
    def is_good(self) -> bool:
        """Whether tests ran, and those that failed did so for a known reason."""
        return bool(self.passed) and all(map(self.why, self.failed))

    @property
    def release(self) -> tuple[int, ...]:
        """The first two numbers of the version."""
        return tuple(int(number) for number in self.torch.split(".")[:2])

    def why(self, failed: str) -> str:
        """Return the known reason of a failure, or an empty text."""
        return next((why for below, name, why in KNOWN if self.release < below and re.search(name, failed)), "")


def requirements(extra: Iterable[str], release: tuple[int, ...]) -> list[str]:
    """Return the requirements of the extra `test` that the guard's tests use, as they are for a release of torch."""
    wanted = {re.split(r"[^A-Za-z0-9._-]", one)[0].lower(): one for one in extra}
    assert wanted.keys() >= USED
    wanted |= {name: one for name, (newest, one) in OLDER.items() if release < newest}
    return [one for name, one in wanted.items() if name in USED]


def results(xml: Path, row: Row) -> Row:
    """Add the results of a JUnit file to a row."""
    for case in ElementTree.parse(xml).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            if name not in row.failed:  # a test that fails may fail once more as it is torn down
                row.failed.append(name)
        elif skip is not None:
            row.skipped[skip.get("message") or "no reason"] += 1
        else:
            row.passed += 1
    return row


def _tested(version: str) -> Row:
    """Run the tests with one version, in an environment of its own."""
    row, begun = Row(version), time.monotonic()
    extra = read_toml(REPOSITORY / "pyproject.toml")["project"]["optional-dependencies"]["test"]
    with tempfile.TemporaryDirectory(prefix="matrix-") as folder:
        place = Path(folder)
        venv.create(place / "environment", with_pip=True)
        python = place / "environment" / ("Scripts" if os.name == "nt" else "bin") / "python"
        install = [str(python), *"-m pip install --quiet --no-cache-dir --no-compile".split(), f"torch=={version}"]
        wanted = ["--editable", str(REPOSITORY), *requirements(extra, row.release)]
        if subprocess.run([*install, *wanted], check=False).returncode:
            return row
        xml = place / "tests.xml"
        environment = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTHONPATH")}
        command = [str(python), *"-m pytest -q -n 2 -p no:cacheprovider".split(), f"--junitxml={xml}", "tests/guard"]
        subprocess.run(
            command, cwd=REPOSITORY, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False
        )
        if xml.exists():
            row.python = sys.version.partition(" ")[0]
            results(xml, row)
    row.minutes = (time.monotonic() - begun) / 60
    return row


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of the table, and the skips and failures of each version."""
    rows = list(rows)
    yield "| torch | Python | passed | failed | skipped |"
    yield "| --- | --- | ---: | ---: | ---: |"
    for row in rows:
        counts = f"{row.passed} | {len(row.failed)} | {sum(row.skipped.values())}" if row.python else "not run | | "
        yield f"| {row.torch} | {row.python} | {counts} |"
    for row in rows:
        yield ""
        yield f"torch {row.torch}, {row.minutes:.1f} minutes"
        yield from (f"  failed: {name}: {row.why(name) or 'NOT KNOWN'}" for name in row.failed)
        yield from (f"  skipped {count}: {reason}" for reason, count in sorted(row.skipped.items()))


def main(versions: list[str]) -> int:
    """Test each version and print the table."""
    if not versions:
        print("usage: python -m tests.guard.matrix VERSION …", file=sys.stderr)
        return 2
    rows = []
    for version in versions:
        rows.append(_tested(version))
        print(f"torch {version}: {rows[-1].passed} passed, {len(rows[-1].failed)} failed", file=sys.stderr, flush=True)
    print("\n".join(table(rows)))
    return 0 if all(row.is_good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
