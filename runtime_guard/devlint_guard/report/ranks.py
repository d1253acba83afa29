"""Several processes of one job: a report for each, and one for all of them.

Nothing waits for other ranks while a program runs or when it fails, since they may be anywhere then. Records are joined
from files, or, once a program has ended well, through the store of the job: a process of PyTorch may wait for ever
where it ends a group of gloo that has just gathered tensors.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from torch import distributed

from devlint_guard.errors import GuardUsageError
from devlint_guard.finding import Finding
from devlint_guard.report import json
from devlint_guard.report.record import Record, added

PATIENCE: Final = timedelta(seconds=30)
"""How long the ranks that have ended wait for the others."""


def ranks() -> tuple[int, ...]:
    """The rank of this process alone; empty in a job of one process."""
    text = os.environ.get("RANK", "")
    return (int(text),) if text.isdecimal() and processes() > 1 else ()


def processes() -> int:
    """How many processes the job has, as launchers such as torchrun say."""
    text = os.environ.get("WORLD_SIZE", "")
    return int(text) if text.isdecimal() else 1


def path_of_rank(path: Path) -> Path:
    """The file that this process writes: `report.json` becomes `report.rank0.json` in a job of several."""
    return path.with_name(f"{path.stem}.rank{ranks()[0]}{path.suffix}") if ranks() else path


# --- joining ------------------------------------------------------------------------------------------------


def merge(records: Sequence[Record]) -> Record:
    """The record of a job: each finding once, with all ranks that have found it; transfers added up.

    Args:
        records: those of its processes, at least one; modules and options are those of the lowest rank.

    Raises:
        GuardUsageError: they are not of different processes of one job.
    """
    ordered = sorted(records, key=lambda record: record.ranks)
    numbers = [rank for record in ordered for rank in record.ranks]
    if len(set(numbers)) < len(numbers) or len({record.processes for record in ordered}) > 1:
        raise GuardUsageError("the reports are not of different processes of one job")
    return replace(
        ordered[0],
        devices=tuple(dict.fromkeys(device for record in ordered for device in record.devices)),
        used_gpu=any(record.used_gpu for record in ordered),
        steps=max(record.steps for record in ordered),
        ranks=tuple(numbers),
        findings=_joined(finding for record in ordered for finding in record.findings),
        suspects=_joined(finding for record in ordered for finding in record.suspects),
        allowed=tuple(one for record in ordered for one in record.allowed),
        transfers=added(one for record in ordered for one in record.transfers),
    )


def _joined(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    found: dict[object, Finding] = {}
    for one in findings:
        known = found.get(one.key)
        if known is not None:
            ranks = tuple(sorted({*known.ranks, *one.ranks}))
            one = replace(known, count=known.count + one.count, ranks=ranks)
        found[one.key] = one
    return tuple(found.values())


@contextlib.contextmanager
def gathered(record: Record) -> Iterator[Record | None]:
    """What this process has to tell: the first one the record of the whole job, the others nothing.

    It is the process's own record where the others cannot be reached. All processes have to call it. The others stay
    until the body of the first has run, since a launcher ends the job as soon as a process has failed.
    """
    told: Record | None = record
    if ranks() and distributed.is_available():
        with contextlib.suppress(RuntimeError, ValueError, OSError):  # each rank has its own report anyway
            from torch.distributed.distributed_c10d import PrefixStore, _get_default_store
            from torch.distributed.rendezvous import rendezvous

            is_own = not distributed.is_initialized()
            found = next(rendezvous("env://", timeout=PATIENCE))[0] if is_own else _get_default_store()
            store, keys = PrefixStore("devlint", found), [str(rank) for rank in range(processes())]
            store.set(str(ranks()[0]), zlib.compress(json.render(record).encode()))  # type: ignore[arg-type]
            store.wait(keys, PATIENCE)
            texts = [zlib.decompress(store.get(key)).decode() for key in keys] if ranks() == (0,) else []
            told = merge([json.read(text) for text in texts]) if texts else None
    try:
        yield told
    finally:
        with contextlib.suppress(RuntimeError):
            if told is None:
                store.wait(["told"], PATIENCE)
            elif told is not record:
                store.set("told", "")
