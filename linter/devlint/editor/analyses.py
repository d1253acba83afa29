"""What is known of the open documents: one analysis of each version, in a thread, shared by all who ask."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from devlint import engine
from devlint.editor.options import Options
from devlint.editor.texts import Texts
from devlint.inspector import Look
from devlint.records import dataclass

STACK = 256 * 1024 * 1024
"""Bytes of stack for the analysis, which follows the nesting of a program; memory is only taken where it is used."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All open documents at one moment, by absolute path, and the number of that moment."""

    moment: int
    contents: Mapping[Path, bytes]


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found in one document, and the texts that its places are in."""

    look: Look
    texts: Texts


class Analyses:
    """The latest analysis of each document.

    Args:
        snapshot: returns the open documents as they are now.
        texts: returns the lines of a snapshot.
        options: returns the client's settings as they are now.
    """

    def __init__(
        self, snapshot: Callable[[], Snapshot], texts: Callable[[Snapshot], Texts], options: Callable[[], Options]
    ) -> None:
        self._snapshot = snapshot
        self._texts = texts
        self._options = options
        self._running: dict[Path, tuple[int, asyncio.Future[Analysis]]] = {}
        self._executor: ThreadPoolExecutor | None = None

    async def of(self, path: Path) -> Analysis:
        """Return the analysis of a document as it is now; whoever waits may be cancelled, the analysis goes on.

        Raises:
            DevlintError: a setting or a configuration file is wrong.
        """
        snapshot = self._snapshot()
        running = self._running.get(path)
        if running is None or running[0] != snapshot.moment:
            loop = asyncio.get_running_loop()
            future = loop.run_in_executor(self._thread(), self._analyse, path, snapshot, self._options())
            running = (snapshot.moment, future)
            self._running[path] = running
        return await asyncio.shield(running[1])

    def forget(self, path: Path) -> None:
        """Drop what is known of a document that was closed."""
        self._running.pop(path, None)

    def _analyse(self, path: Path, snapshot: Snapshot, options: Options) -> Analysis:
        look = engine.look_at(path, options.settings(path), snapshot.contents)
        return Analysis(look, self._texts(snapshot))

    def _thread(self) -> ThreadPoolExecutor:
        """The thread of all analyses; one at a time, as they compete for the interpreter anyway."""
        if self._executor is None:
            before = threading.stack_size(STACK)
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="analysis")
            self._executor.submit(int).result()  # starts the thread while the size holds
            threading.stack_size(before)
        return self._executor
