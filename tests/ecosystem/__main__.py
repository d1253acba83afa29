"""`python -m tests.ecosystem FOLDER [NAME …] [--clones CLONES]`: lint pinned code and compare with the filed verdicts.

FOLDER receives the packages, whose wheels are downloaded with pip and unpacked, not installed, and what is unpacked of
repositories, if CLONES holds clones of them, as for `python -m tests.recall`. Prints one line for each and the
precision by groups; exits with 1 if a diagnostic has no verdict yet or a filed one has gone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import zipfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from tests.ecosystem.verdicts import Filed, Package, read_packages, read_verdicts
from tests.recall.clones import unpack


def fetch(folder: Path, requirement: str) -> Path:
    """Downloads and unpacks a wheel into a folder of its own, once."""
    target = folder / requirement.replace("==", "-")
    if not target.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "--dest", str(folder / "wheels" / target.name), requirement], check=True)
        (wheel,) = (folder / "wheels" / target.name).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target)
    return target


def source(folder: Path, package: Package, clones: Path | None) -> Path | None:
    """Where the code of a package or repository is, fetched if it has to be; None for a repository without clones."""
    if not package.is_repository:
        return fetch(folder, package.requirement)
    if clones is None:
        return None
    repo, commit = package.requirement.split("@")
    root = unpack(clones, repo, commit, folder)
    (root / ".git").mkdir(exist_ok=True)  # marks the project, as in a clone
    return root


class Reported(NamedTuple):
    """One diagnostic of the JSON report."""

    path: str
    line: int
    code: str
    message: str


def lint(root: Path, module: str) -> tuple[list[Reported], int]:
    """The diagnostics of a package, paths relative to `root`, and how many files were looked at."""
    command = [sys.executable, "-m", "devlint", "check", module, "--isolated", "--output-format", "json", "--exit-zero"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 2):
        raise RuntimeError(done.stderr)
    report = json.loads(done.stdout)
    found = [Reported(row["file"], row["line"], row["code"], row["message"]) for row in report["diagnostics"]]
    return found, report["summary"]["files"]


def _precision(found: list[Filed], lines: int) -> str:
    """How many of the filed diagnostics are false, for so many lines."""
    apart = [row for row in found if row.code.startswith("DEV1")]
    wrong, wrong_apart = (sum(not row.true for row in rows) for rows in (found, apart))
    rate = 100_000 * wrong / max(lines, 1)
    return (
        f"{len(found)} filed, {wrong} false: {rate:.2f} in 100,000 lines ({lines} lines); "
        f"{len(apart)} of DEV1, {wrong_apart} false"
    )


def main() -> int:
    """Runs the comparison; the result is the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.ecosystem", description=__doc__)
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="where the packages are kept, and put if they are not there"
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="only these, by the name that is imported, or of the repository"
    )
    parser.add_argument(
        "--clones", type=Path, metavar="CLONES", help="clones of the repositories; without, none is run"
    )
    options = parser.parse_args()
    folder, chosen = options.folder.absolute(), set(options.names)
    clones = None if options.clones is None else options.clones.absolute()
    filed = {row.key: row for row in read_verdicts()}
    unread = gone = 0
    lines: Counter[str] = Counter()
    found: dict[str, list[Filed]] = defaultdict(list)
    for package in read_packages():
        requirement, module = package.requirement, package.module
        root = source(folder, package, clones) if not chosen or package.name in chosen else None
        if root is None:
            continue
        size = sum(path.read_bytes().count(b"\n") for path in (root / module).rglob("*.py"))
        start = time.perf_counter()
        diagnostics, files = lint(root, module)
        lines[package.group] += size
        keys = {(requirement, row.path, row.line, row.code): row for row in diagnostics}
        seconds = time.perf_counter() - start
        print(f"{requirement}: {files} files, {size} lines, {len(keys)} diagnostics, {seconds:.0f} s", flush=True)
        for key, reported in keys.items():
            if key in filed:
                found[package.group].append(filed[key])
            else:
                unread += 1
                print(f"  no verdict: {reported.path}:{reported.line} {reported.code} {reported.message}")
        for missing in [key for key in filed if key[0] == requirement and key not in keys]:
            gone += 1
            print(f"  gone: {missing[1]}:{missing[2]} {missing[3]}")
    for group, size in lines.items():
        print(f"{group}: {_precision(found[group], size)}")
    return 1 if unread or gone else 0


if __name__ == "__main__":
    sys.exit(main())
