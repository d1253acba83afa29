"""Sharing files out to processes, so that the death of one costs only the file that it was looking at."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from devlint.inspector import Batch, FileResult, Loader, inspector, killed
from devlint.settings import Settings

Progress: TypeAlias = Callable[[int, int], None]
"""Told how many files are done, and of how many."""


def in_processes(
    settings: Settings,
    load: Loader,
    batches: Sequence[Batch],
    jobs: int,
    contents: Mapping[Path, bytes],
    progress: Progress,
) -> list[FileResult]:
    """Share the files out to processes; a file that kills its process is reported and the others go on.

    Args:
        settings, load: as for `Inspector`.
        batches: the files.
        jobs: how many processes.
        contents: what stands for the content of files, by absolute path.
        progress: told how many files of all are done.
    """
    inspect = partial(_inspect, settings, load, contents)
    total = sum(len(batch.files) for batch in batches)
    size = max(1, total // (jobs * 4))
    parts = list(chain.from_iterable(batch.split(size) for batch in batches))
    results, unfinished = _through_pool(inspect, parts, jobs, lambda done: progress(done, total))
    alone = list(chain.from_iterable(batch.split(1) for batch in unfinished))
    while alone:
        done, left = _through_pool(inspect, alone, 1, lambda done: None)
        results += done
        if left:
            results.append(killed(left[0].files[0]))
        alone = left[1:]
    return results


_Inspect: TypeAlias = Callable[[Batch], list[FileResult]]


def _through_pool(
    inspect: _Inspect, batches: Sequence[Batch], jobs: int, finished: Callable[[int], None]
) -> tuple[list[FileResult], list[Batch]]:
    """Return the results, and the batches that the death of a process left without one, in order."""
    results: list[FileResult] = []
    unfinished: list[Batch] = []
    context = multiprocessing.get_context("spawn")
    with safe_path():
        pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_ignore_interrupt)
    try:
        with safe_path():
            futures = [_submit(pool, inspect, batch) for batch in batches]
        for batch, future in zip(batches, futures, strict=True):
            found = _result(future)
            if found is None:
                unfinished.append(batch)
            else:
                results += found
                finished(len(results))
    except KeyboardInterrupt:
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return results, unfinished


@contextmanager
def safe_path() -> Iterator[None]:
    """Keep the current folder, which may be one to check, off the path that new processes import from.

    They begin as `python -c`, which puts it first. Python has heeded the variable since 3.11.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


_Future: TypeAlias = "Future[list[FileResult]]"


def _submit(pool: ProcessPoolExecutor, inspect: _Inspect, batch: Batch) -> _Future | None:
    try:
        return pool.submit(inspect, batch)
    except BrokenProcessPool:
        return None


def _result(future: _Future | None) -> list[FileResult] | None:
    try:
        return None if future is None else future.result()
    except BrokenProcessPool:
        return None


def _ignore_interrupt() -> None:
    """Leave Ctrl-C to the parent, which ends the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _inspect(settings: Settings, load: Loader, contents: Mapping[Path, bytes], batch: Batch) -> list[FileResult]:
    return inspector(settings, load).inspect(batch, contents)
