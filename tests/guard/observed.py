"""What observing a run adds on the fixtures: `python -m tests.guard.observed [PART OF A PATH]`.

Each file is recorded on pretended devices while all of its functions are called, then checked with and without what was
observed. What is reported more stands in functions that fail (`bad_`, `fn_`), or in what those call; anything else is a
false alarm. Nothing that is reported without may be missing.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from devlint import engine
from devlint.diagnostics import Diagnostic
from devlint.settings import Settings

from tests.conftest import REPOSITORY
from tests.judge import Judge

RECORD = """\
import contextlib, linecache, os, sys, types
from devlint_guard import guard
folder, file, report = sys.argv[1:4]
os.chdir(folder)
sys.path.insert(0, os.path.dirname(file))
text = open(file, encoding="utf-8").read()
linecache.cache[file] = (len(text), None, text.splitlines(True), file)
program = sys.modules["program"] = types.ModuleType("program")
with guard(mode="record", level="module", report=report):
    with contextlib.suppress(BaseException):
        exec(compile(text, file, "exec", dont_inherit=True), program.__dict__)
    for name in list(program.__dict__):
        if name.startswith(("bad_", "ok_", "fp_", "fn_")):
            with contextlib.suppress(BaseException):
                program.__dict__[name]()
"""


def added(judge: Judge, file: str, report: Path) -> Iterator[Diagnostic]:
    """What is reported more of a file, relative to the repository, once it was observed.

    Raises:
        AssertionError: something is reported no more.
    """
    judge.run(RECORD, argv=[str(REPOSITORY), file, str(report)])
    settings = Settings((file,), select=("ALL",), isolated=True, jobs=1)
    plain = engine.run(settings).outcome.everything()
    seen = engine.run(replace(settings, observed=(report,))).outcome.everything()
    assert not set(plain) - set(seen), f"{file}: no longer reported"
    return (one for one in seen if one not in plain)


def main() -> None:
    """Prints one line for each diagnostic, and how many files there were."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="")
    part = parser.parse_args().part
    os.chdir(REPOSITORY)
    files = [path.as_posix() for path in sorted(Path("fixtures").rglob("*.py")) if "malformed" not in path.parts]
    chosen = [file for file in files if part in file]
    count = 0
    with Judge(is_pretended=True) as judge, tempfile.TemporaryDirectory() as folder:
        for file in chosen:
            for one in added(judge, file, Path(folder, "run.json")):
                print(f"{one.place.file}:{one.place.line}: {one.code} {one.message}", flush=True)
                count += 1
    print(f"{count} more in {len(chosen)} files")


if __name__ == "__main__":
    main()
