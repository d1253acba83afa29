"""Measures the language server under load: `python -m tests.editor.load FILE [--keystrokes 30] [--edits 5000]`.

A client opens the file and types into it as an editor would, with a hover after each keystroke. It prints the time of
one analysis, the time until the last diagnostics after fast typing, the time of a hover meanwhile, the time until the
diagnostics after an edit in the middle of an analysis, and the memory of the server and its processes after thousands
of edits.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import psutil  # type: ignore[import-untyped]
from lsprotocol import types

from tests.editor.client import Client, converse, environment

SPAN = 4.0
"""Seconds in which the keystrokes of a burst are typed."""

PAUSE = 0.3
"""Seconds after an edit in which the server only waits."""

LONGEST = 600.0
"""Seconds to wait for diagnostics."""


class Typing(NamedTuple):
    """The figures of one burst of keystrokes, in seconds.

    Attributes:
        last: from the last keystroke to its diagnostics.
        hovers: for each keystroke, from the question to the answer.
    """

    last: float
    hovers: tuple[float, ...]


class Memory(NamedTuple):
    """Resident bytes after some edits: of the server, and of it with all of its processes."""

    edits: int
    server: int
    together: int


STATEMENT = 'value = torch.ones(2) + torch.ones(2, device="cuda:0")'
"""Typed letter by letter: no Python on the way, a report at the end."""


class Author:
    """Types the statement into a document, before a definition in its middle, and removes it again."""

    def __init__(self, client: Client, name: str, text: str) -> None:
        self.client = client
        self.name = name
        self.version = 1
        self.typed = 0
        lines = text.split("\n")
        self._line = next(n for n in range(len(lines) // 2, len(lines)) if lines[n].startswith(("def", "class", "@")))
        self._lines = [*lines[: self._line], "", *lines[self._line :]]

    @property
    def text(self) -> str:
        """The document as it is now."""
        return "\n".join(self._lines)

    def open(self) -> types.TextDocumentIdentifier:
        """Open the document, with an empty line to type into."""
        return self.client.open(self.name, self.text)

    def type(self) -> None:
        """Type the next letter, or remove the statement where it is complete."""
        start, end = 0 if self.typed == len(STATEMENT) else self.typed, self.typed
        letter = "" if start < end else STATEMENT[end]
        self.typed = start + len(letter)
        self._lines[self._line] = STATEMENT[: self.typed]
        where = types.Range(types.Position(self._line, start), types.Position(self._line, end))
        self.version = self.client.edit(self.name, types.TextDocumentContentChangePartial(where, letter))

    def finish(self) -> None:
        """Type the rest of the statement, or all of it again."""
        self.type()
        while self.typed < len(STATEMENT):
            self.type()

    async def settled(self) -> types.PublishDiagnosticsParams:
        """Wait for the diagnostics of the version typed last; no later version may have any before."""
        while True:
            published = await asyncio.wait_for(self.client.published.get(), LONGEST)
            if published.uri == self.client.uri(self.name) and published.version == self.version:
                return published

    async def hover(self, position: types.Position) -> float:
        """Return how long a hover takes."""
        document = types.TextDocumentIdentifier(self.client.uri(self.name))
        start = time.perf_counter()
        await self.client.text_document_hover_async(types.HoverParams(document, position))
        return time.perf_counter() - start


async def burst(author: Author, keystrokes: int, span: float = SPAN) -> Typing:
    """Type letters one by one, each followed by a hover, and wait for the diagnostics of the last one."""
    hovers = []
    for number in range(keystrokes):
        author.type()
        hovers.append(asyncio.ensure_future(author.hover(types.Position(number * 7, 8))))
        await asyncio.sleep(span / keystrokes)
    start = time.perf_counter()
    await author.settled()
    last = time.perf_counter() - start
    return Typing(last, tuple(await asyncio.gather(*hovers)))


async def interrupting(author: Author) -> float:
    """Return the seconds from an edit in the middle of an analysis until the diagnostics of the new text."""
    await _idle(server_of(author.client))
    author.type()
    while not _parses(author.text):  # else there is little to analyse
        author.type()
    await asyncio.sleep(PAUSE)
    await busy(author.client)
    start = time.perf_counter()
    author.type()
    await author.settled()
    return time.perf_counter() - start


async def busy(client: Client) -> psutil.Process:
    """The process that analyses, once it does."""
    before: dict[int, float] = {}
    while True:
        await asyncio.sleep(0.05)
        for process in server_of(client).children():
            spent = sum(process.cpu_times()[:2])
            if spent - before.get(process.pid, spent) > 0.015:
                return process
            before[process.pid] = spent


def runs(process: psutil.Process) -> bool:
    """Whether a process has not ended."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def server_of(client: Client) -> psutil.Process:
    """The process of the server."""
    assert client.process is not None
    return psutil.Process(client.process.pid)


async def _idle(server: psutil.Process) -> None:
    """Wait until the server and its processes have nothing to do."""
    before = -1.0
    while True:
        spent = sum(sum(process.cpu_times()[:2]) for process in [server, *server.children(recursive=True)])
        if spent == before:
            return
        before = spent
        await asyncio.sleep(0.25)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def memory(client: Client, edits: int) -> Memory:
    """The memory of the server and its processes."""
    server = server_of(client)
    together = 0
    for process in [server, *server.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            together += process.memory_info().rss
    return Memory(edits, server.memory_info().rss, together)


async def edit(author: Author, edits: int, *, every: int, pause: float) -> list[Memory]:
    """Make many edits, and note the memory whenever the last one has its diagnostics.

    Each note follows an analysis of the whole file: the author goes on typing until the text is Python again.

    Args:
        author: types.
        edits: how many, a multiple of `every`.
        every: after how many edits to wait for the diagnostics.
        pause: seconds between two edits.
    """
    noted = []
    for number in range(1, edits + 1):
        author.type()
        await asyncio.sleep(pause)
        if number % every == 0:
            while not _parses(author.text):
                author.type()
            await author.settled()
            await _idle(server_of(author.client))
            noted.append(memory(author.client, number))
    return noted


def command_line(root: Path, name: str, text: str) -> tuple[float, set[tuple[int, str]]]:
    """Return how long the command line takes for a text, and the line and code of all that it reports."""
    start = time.perf_counter()
    arguments = ("--no-cache", "--output-format", "json", "--stdin-filename", name, "-")
    done = subprocess.run(
        [sys.executable, "-m", "devlint", "check", *arguments],
        cwd=root,
        env=environment(),
        input=text,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    took = time.perf_counter() - start
    return took, {(found["line"], found["code"]) for found in json.loads(done.stdout)["diagnostics"]}


def reported(published: types.PublishDiagnosticsParams) -> set[tuple[int, str]]:
    """The line and code of all diagnostics."""
    return {(found.range.start.line + 1, str(found.code)) for found in published.diagnostics}


def _same(published: types.PublishDiagnosticsParams, rows: set[tuple[int, str]]) -> str:
    same = "the same" if reported(published) == rows else "NOT the same"
    return f"{len(rows)} reports, {same} as on the command line"


def _show(name: str, seconds: Sequence[float]) -> None:
    print(f"{name}: median {statistics.median(seconds):.3f} s, most {max(seconds):.3f} s of {len(seconds)}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="the file to type into; it stays as it is on the disk")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the folder that the editor has open")
    parser.add_argument("--keystrokes", type=int, default=30, help=f"how many in {SPAN:.0f} seconds")
    parser.add_argument("--interruptions", type=int, default=5, help="how many edits in the middle of an analysis")
    parser.add_argument("--edits", type=int, default=5000, help="how many; 0: none")
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between two of them")
    given = parser.parse_args()
    root = given.root.resolve()
    name = given.file.resolve().relative_to(root).as_posix()
    text = (root / name).read_text(encoding="utf-8")

    async def talk(client: Client) -> None:
        author = Author(client, name, text)
        start = time.perf_counter()
        author.open()
        found = await author.settled()
        opening = time.perf_counter() - start
        took, rows = command_line(root, name, author.text)
        print(f"command line: {took:.2f} s; opening: {opening:.2f} s; {_same(found, rows)}", flush=True)
        start = time.perf_counter()
        author.type()
        await author.settled()
        alone = time.perf_counter() - start
        print(f"one edit: {alone:.2f} s until its diagnostics", flush=True)
        typing = await burst(author, given.keystrokes)
        print(f"{given.keystrokes} keystrokes in {SPAN:.0f} s: {typing.last:.2f} s until the last diagnostics")
        _show("hover meanwhile", typing.hovers)
        _show("edit in the middle of an analysis", [await interrupting(author) for _ in range(given.interruptions)])
        every = max(given.edits // 10, 1)
        for noted in await edit(author, given.edits - given.edits % every, every=every, pause=given.pause):
            print(
                f"{noted.edits} edits: {noted.server / 2**20:.0f} MiB the server,"
                f" {noted.together / 2**20:.0f} MiB with its processes",
                flush=True,
            )
        author.finish()
        start = time.perf_counter()
        found = await author.settled()
        took = time.perf_counter() - start
        print(f"last: {took:.2f} s; {_same(found, command_line(root, name, author.text)[1])}")

    converse(root, talk, longest=3600.0)


if __name__ == "__main__":
    main()
