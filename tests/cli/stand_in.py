"""A stand-in for the analysis and the rules, so that the shell around them is tested by itself.

Every `clash` in a line is one DEV101, every `raw_cuda` one DEV302. A line `# analysis: fail`, `# rules: fail`
or `# analysis: die` makes that phase raise or the process end.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from devlint import engine
from devlint.cli import devlint
from devlint.diagnostics import Certainty, Diagnostic, Label, Place, Related
from devlint.domain.device import Concrete
from devlint.facts import (
    Anchored,
    Conflict,
    ConflictKind,
    Fact,
    FileFacts,
    Meeting,
    OriginKind,
    Spelling,
    Step,
    UncheckedDevice,
)
from devlint.inspector import Tools
from devlint.project import Project, Source
from devlint.registry import load_rules
from devlint.selection import Rules
from devlint.settings import Configuration, Settings

CPU, CUDA = Concrete("cpu"), Concrete("cuda", 0)


class StandIn:
    """Finds facts by words in the text."""

    def facts(self, source: Source, *, occurrences: bool = False) -> FileFacts:
        ast.parse(source.text)
        if "# analysis: fail" in source.text:
            raise KeyError("lost")
        if "# analysis: die" in source.text:
            os._exit(9)
        found: list[Anchored] = []
        environment: list[tuple[int, str, str]] = []
        for number, line in enumerate(source.text.split("\n"), start=1):
            for match in re.finditer("clash|raw_cuda", line):
                place = Place(source.display, number, match.start() + 1, number, match.end() + 1)
                found.append(Anchored(place, _fact(match[0], place)))
                environment.append((number, "x", "cuda:0"))
        return FileFacts(tuple(found), tuple(environment))

    def prepare(self, after: Source) -> None:
        """See `Analysis`."""

    def change(self, before: Source, after: Source) -> bool:
        """See `Analysis`; it keeps nothing."""
        return True


def _fact(word: str, place: Place) -> Fact:
    if word == "raw_cuda":
        return UncheckedDevice(CUDA, Spelling.STRING, '"cuda:0"', None)
    first = Meeting("a", CPU, place, (Step(place, "a is created on cpu here"),), OriginKind.CREATED)
    second = Meeting("b", CUDA, place, (Step(place, "b is created on cuda:0 here"),), OriginKind.CREATED)
    return Conflict(ConflictKind.OPERANDS, "+", first, second, Certainty.CERTAIN, "Expected one device")


def check(source: Source, facts: FileFacts, rules: Rules) -> list[Diagnostic]:
    if "# rules: fail" in source.text:
        raise ZeroDivisionError
    by_code = {rule.code: rule for rule in rules}
    found = []
    for anchored in facts.facts:
        clash = isinstance(anchored.fact, Conflict)
        rule = by_code.get("DEV101" if clash else "DEV302")
        if rule is not None:
            found.append(
                Diagnostic(
                    rule.code,
                    rule.name,
                    rule.severity,
                    Certainty.CERTAIN,
                    "a is on cpu, b is on cuda:0" if clash else "cuda:0 is taken for granted",
                    anchored.place,
                    labels=(Label(anchored.place, "cpu"),),
                    related=(Related(anchored.place, "a is created on cpu here"),),
                )
            )
    return found


def _analysis(project: Project, configuration: Configuration) -> StandIn:
    return StandIn()


def load() -> Tools:
    """The stand-in's tools, under the names of the real rules."""
    return Tools(tuple(rule.declaration() for rule in load_rules()), _analysis, check)


class Shell:
    """Runs devlint's command line in a folder, with the stand-in in place of the analysis."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.chdir(folder)
        real, real_facts = engine.run, engine.facts_of

        def run(settings: Settings, stdin: bytes | None = None, **given: object) -> engine.Run:
            return real(settings, stdin=stdin, load=load)

        monkeypatch.setattr(engine, "run", run)
        monkeypatch.setattr(engine, "facts_of", lambda path, settings: real_facts(path, settings, load=load))
        for name in ("NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name, raising=False)

    def write(self, name: str, content: str | bytes = "import torch\nclash\n") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def run(self, *arguments: str, stdin: bytes | None = None) -> Result:
        return CliRunner().invoke(devlint, list(arguments), input=stdin)

    def concise(self, *arguments: str, stdin: bytes | None = None) -> list[str]:
        """The diagnostics as `file:line:column: CODE`."""
        result = self.run("check", "--output-format", "concise", "-q", *arguments, stdin=stdin)
        assert result.exit_code in (0, 1, 2), result
        return [line.partition(" [")[0] for line in result.stdout.splitlines()]
