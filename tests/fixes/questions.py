"""Tries the fixes for the programs that were rebuilt from public questions.

Each program of `fixtures/questions` raises on a machine with GPUs, or without. All fixes are made together, as
`--fix --unsafe-fixes` makes them. PyTorch says what came of it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from devlint import engine
from devlint.settings import Settings

from tests.conftest import REPOSITORY, read_toml
from tests.fixes.proof import Program, values_differ
from tests.judge import Judge

_OFFLINE = {"HF_HUB_OFFLINE": "1"}

FOLDER = REPOSITORY / "fixtures" / "questions"


_AS_ASKED = ("AttributeError", "ValueError", "torch.optim.Error")
"""Exceptions that do not speak of devices, and that programs raise because of them."""


def programs() -> Iterator[Program]:
    """The programs, each in a folder of its own."""
    for name, row in read_toml(FOLDER / "programs.toml").items():
        variant = row.get("variant", "cuda")
        yield Program(name, FOLDER / name, row["main"], None, (row["devices"],), variant)


def mended(judge: Judge, program: Program, folder: Path, *, unsafe: bool) -> str:
    """Make all fixes in a copy of a program, and say what came of it: "mends", "no fix", or what PyTorch says.

    A program that needs a library which is missing here "cannot run".
    """
    copy = folder / f"{program.name}-{unsafe}"
    shutil.copytree(program.folder, copy)
    settings = Settings((str(copy),), isolated=True, fix=True, unsafe_fixes=unsafe)
    changes = engine.run(settings).changes
    (devices,) = program.machines
    before = judge.run(
        file=program.folder / program.main, devices=devices, variant=program.variant, recorded=True, env=_OFFLINE
    )
    if before.outcome != "device-error" and before.exception not in _AS_ASKED:
        return "cannot run"
    if not changes:
        return "no fix"
    for change in changes:
        change.path.write_bytes(change.after)
    after = judge.run(file=copy / program.main, devices=devices, variant=program.variant, recorded=True, env=_OFFLINE)
    if program.variant == "cuda":
        meant = judge.run(
            file=program.folder / program.main,
            devices=devices,
            variant="cuda",
            recorded=True,
            env=_OFFLINE,
            lenient=True,
        )
        why = values_differ(meant, after)
        if why is not None:
            return f"BREAKS: {why}"
    if after.outcome == "ok":
        return "mends"
    if after.outcome != before.outcome:
        return f"BREAKS: {after.message}"
    same = (after.exception, after.message) == (before.exception, before.message)
    return "changes nothing here" if same else f"then raises: {(after.message or '')[:80]}"
