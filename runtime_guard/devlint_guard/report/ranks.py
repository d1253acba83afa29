"""Several processes of one job: a report for each, and one for all of them.

No collective runs while a program runs or when it fails, since other ranks may be anywhere then. Records are joined
from files, or, once a program has ended well, through a process group of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
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


def gathered(record: Record) -> Record | None:
    """The record of the whole job; None where the other ranks cannot be reached. All ranks have to call it."""
    if not ranks() or not distributed.is_available():
        return None
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    texts: list[str] = [""] * processes()
    is_own = not distributed.is_initialized()
    try:
        if is_own:
            store, rank, size = next(rendezvous("env://", timeout=PATIENCE))
            store = PrefixStore("devlint", store)
            distributed.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=PATIENCE)
        group = None if is_own else distributed.new_group(backend="gloo", timeout=PATIENCE)
        distributed.all_gather_object(texts, json.render(record), group=group)
        return merge([json.read(text) for text in texts])
    except (RuntimeError, ValueError, OSError):  # each rank has its own report anyway
        return None
    finally:
        if is_own and distributed.is_initialized():
            distributed.destroy_process_group()
