"""Who may import what, and how large a file may be."""

from __future__ import annotations

import ast
import doctest
import functools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import REPOSITORY

ROOTS = ("linter", "rules", "runtime_guard")
LONGEST_FILE = 600

COMMON = ("devlint", "devlint.records", "devlint.quoting", "devlint.reading")
"""The version, what plain data is made with, how text that may act is printed, and how files are read."""

LAYERS: tuple[tuple[str, ...], ...] = (
    (
        "devlint",
        "devlint.errors",
        "devlint.quoting",
        "devlint.reading",
        "devlint.records",
        "devlint.retired",
        "devlint.watching",
    ),
    ("devlint.addresses",),
    ("devlint.diagnostics", "devlint.patterns", "devlint.writing"),
    (
        "devlint.configuration_keys",
        "devlint.definitions",
        "devlint.one_cause",
        "devlint.shown_by_calls",
        "devlint.traces",
    ),
    ("devlint.reads",),
    ("devlint.frontend", "devlint.frontend.flattening", "devlint.torchlib", "devlint.sources"),
    ("devlint.decoding", "devlint.domain", "devlint.frontend.pieces", "devlint.settings"),
    ("devlint.syntax",),
    ("devlint.facts", "devlint.project", "devlint.suppressions", "devlint.report"),
    ("devlint.configuration", "devlint.declarations", "devlint.importers"),
    ("devlint.inference.values",),
    ("devlint.inference.text", "devlint.inference.stubs"),
    ("devlint.inference.state",),
    ("devlint.inference.worlds",),
    ("devlint.inference.requirements",),
    ("devlint.inference.libraries",),
    ("devlint.inference.calls",),
    ("devlint.inference.execute",),
    ("devlint.inference.summaries",),
    ("devlint.inference.entries", "devlint.inference.files"),
    ("devlint.inference.solve",),
    ("devlint.inference.verdict",),
    ("devlint.inference",),
    ("devlint.analysis.index", "devlint.analysis.demand"),
    ("devlint.analysis.execution",),
    ("devlint.analysis.values",),
    ("devlint.analysis.findings",),
    ("devlint.analysis.libraries",),
    ("devlint.analysis.summary",),
    ("devlint.analysis.interpreter",),
    ("devlint.analysis.transfers",),
    ("devlint.analysis.shape",),
    ("devlint.analysis.names",),
    ("devlint.analysis.files",),
    ("devlint.analysis.program",),
    ("devlint.analysis",),
    ("devlint.rule", "devlint.discovery"),
    ("devlint.frontend.concrete", "devlint.registry"),
    ("devlint.selection", "devlint.explain", "devlint.inferred"),
    ("devlint.audit", "devlint.baseline", "devlint.base_revision", "devlint.fixes"),
    ("devlint.add_ignores", "devlint.inspector"),
    ("devlint.cache", "devlint.chosen_reports", "devlint.pool", "devlint.view"),
    ("devlint.engine",),
    ("devlint.acceptance", "devlint.editor", "devlint.flake8", "devlint.proving", "devlint.testing"),
    ("devlint.initial",),
    ("devlint.cli",),
    ("devlint.__main__",),
)
"""The linter from the bottom to the top: a file imports what is in layers below its own, and in its own package."""

GUARD_LAYERS: tuple[tuple[str, ...], ...] = (
    ("devlint_guard.codes", "devlint_guard.requirement"),
    ("devlint_guard.finding",),
    ("devlint_guard.errors",),
    ("devlint_guard.allow", "devlint_guard.program"),
    ("devlint_guard.record", "devlint_guard.report", "devlint_guard.reveal"),
    ("devlint_guard.explain",),
    ("devlint_guard.advise",),
    ("devlint_guard.findings",),
    ("devlint_guard.hooks", "devlint_guard.watch"),
    ("devlint_guard.session",),
    ("devlint_guard.options",),
    ("devlint_guard",),
    ("devlint_guard.integrations", "devlint_guard.launcher"),
    ("devlint_guard.rehearsal",),
)
"""The guard, likewise."""

LAYER_OF = {area: number for layers in (LAYERS, GUARD_LAYERS) for number, layer in enumerate(layers) for area in layer}

LAYERED = ("devlint", "devlint_guard")

READERS: Mapping[str, tuple[str, ...]] = {
    # Packages of others. Only `pieces`, `concrete` and what serves rules see LibCST.
    "click": ("devlint.cli",),
    "tomli": ("devlint.configuration",),
    "pygls": ("devlint.cli", "devlint.editor"),
    "lsprotocol": ("devlint.editor",),
    "libcst": (
        "devlint.fixes.names",
        "devlint.fixes.placing",
        "devlint.frontend.concrete",
        "devlint.frontend.pieces",
        "devlint.rule",
        "devlint.syntax",
        "devlint_rules",
    ),
    "torch": ("devlint_guard",),
    "lightning": ("devlint_guard.integrations.lightning",),
    "transformers": ("devlint_guard.integrations.transformers",),
    "pytest": ("devlint_pytest",),
    # Source to IR by the standard library's `ast`, and the analysis of the IR over the domain, to facts.
    "devlint.frontend.flattening": ("devlint.frontend",),
    "devlint.frontend.ir": ("devlint.frontend", "devlint.domain", "devlint.analysis", "devlint.inference"),
    "devlint.frontend.lower": ("devlint.analysis", "devlint.inference.files"),
    "devlint.frontend.pieces": ("devlint.frontend.concrete", "devlint.inspector", "devlint.rule", "devlint.syntax"),
    "devlint.frontend.concrete": ("devlint.editor", "devlint.inspector"),
    "devlint.frontend": ("devlint.frontend",),
    "devlint.domain.device": (
        "devlint.analysis",
        "devlint.domain",
        "devlint.editor",
        "devlint.facts",
        "devlint.inferred",
        "devlint.view",
        "devlint_rules",
    ),
    "devlint.domain": ("devlint.analysis", "devlint.domain", "devlint.facts", "devlint.inferred"),
    "devlint.torchlib": ("devlint.analysis", "devlint.inference", "devlint.torchlib"),
    "devlint.analysis": ("devlint.analysis", "devlint.inspector"),
    # Fixes are edits; nothing else writes source files. A rule asks `names` and `placing` before it offers a fix.
    "devlint.fixes.closed": ("devlint.inspector",),
    "devlint.fixes.names": ("devlint.fixes", "devlint_rules"),
    "devlint.fixes.placing": ("devlint_rules",),
    "devlint.fixes": (
        "devlint.add_ignores",
        "devlint.cli",
        "devlint.editor",
        "devlint.engine",
        "devlint.fixes",
        "devlint.proving",
    ),
    "devlint.writing": (
        "devlint.baseline",
        "devlint.cli",
        "devlint.fixes",
        "devlint.initial",
        "devlint.proving",
    ),
    "devlint.flake8": (),
    "devlint.testing": (),
    # The guard stands alone; the linter sees it where a command starts it.
    "devlint_guard.integrations": ("devlint_guard.integrations",),
    "devlint_guard.rehearsal": ("devlint.cli.rehearse", "devlint_guard.rehearsal", "devlint_pytest"),
    "devlint_guard": ("devlint.cli.run", "devlint.cli.rehearse", "devlint_guard", "devlint_pytest"),
    "devlint_pytest": (),
    # No rule sees another, only what they share.
    "devlint_rules.support": ("devlint_rules",),
    "devlint_rules": (),
}
"""Who may import what is not for all; by the longest prefix that names it. A package stands for all that is in it."""

SEEN: Mapping[str, tuple[str, ...]] = {
    "devlint.domain": ("devlint.domain", "devlint.frontend.ir"),
    "devlint.torchlib": ("devlint.torchlib", "devlint.errors"),
    "devlint.report": ("devlint.report", "devlint.diagnostics", "devlint.errors"),
    # Rules see facts, never how they were found.
    "devlint_rules": (
        "devlint_rules",
        "devlint.rule",
        "devlint.syntax",
        "devlint.fixes.names",
        "devlint.fixes.placing",
        "devlint.facts",
        "devlint.diagnostics",
        "devlint.domain.device",
    ),
    "devlint_guard": ("devlint_guard",),
    "devlint_pytest": ("devlint_guard",),
}
"""All that some see of ours."""


class Import(NamedTuple):
    """One module that a file imports, and on which line."""

    line: int
    name: str


def source_files() -> list[tuple[str, Path]]:
    """Every source file with its dotted name; stubs are data."""
    found = []
    for root in ROOTS:
        for path in sorted((REPOSITORY / root).rglob("*.py")):
            parts = path.relative_to(REPOSITORY / root).with_suffix("").parts
            found.append((".".join(parts).removesuffix(".__init__"), path))
    return found


NAMES = frozenset(name for name, _ in source_files())


def imports(name: str, text: str, *, package: bool = False) -> Iterator[Import]:
    """Everything a file imports, wherever in it; `from a import b` is `a.b` where that is a file of ours."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = name.split(".")
                kept = above[: len(above) - node.level + package]
                base = ".".join([*kept, *([base] if base else [])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                yield Import(node.lineno, whole if whole in NAMES else base)


def within(name: str, area: str) -> bool:
    return name == area or name.startswith(f"{area}.")


def _longest(name: str, areas: Iterable[str]) -> str | None:
    return max((area for area in areas if within(name, area)), key=len, default=None)


def may_import(importer: str, imported: str) -> bool:
    """Whether the tables allow it."""
    # tomllib is of the standard library since 3.11, and older versions of Python are spared the import.
    top = imported.partition(".")[0]
    if top in {*sys.stdlib_module_names, "tomllib"} or imported in COMMON:
        return True
    is_ours = within(imported, "devlint") or top in ("devlint_rules", "devlint_guard", "devlint_pytest")
    seen = _longest(importer, SEEN)
    if is_ours and seen is not None and not _longest(imported, SEEN[seen]):
        return False
    read = _longest(imported, READERS)
    if read is None:
        return is_ours and (not within(importer, "devlint") or _is_below(imported, importer))
    return _longest(importer, READERS[read]) is not None and _is_below(imported, importer)


def _is_below(imported: str, importer: str) -> bool:
    """Whether a file of the linter or of the guard is in a layer below that of another one, or in its package."""
    if importer.partition(".")[0] != imported.partition(".")[0] or importer.partition(".")[0] not in LAYERED:
        return True
    own, other = _area(importer), _area(imported)
    return own == other or LAYER_OF[other] < LAYER_OF[own]


def _area(name: str) -> str:
    """Return the area of `LAYERS` that a file belongs to; the top of a package, `devlint`, is one file."""
    return name if name in LAYERED else max((one for one in LAYER_OF if within(name, one)), key=len)


@pytest.mark.parametrize(("name", "path"), source_files(), ids=[name for name, _ in source_files()])
def test_imports(name: str, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = imports(name, text, package=path.name == "__init__.py")
    wrong = [f"{path.name}:{line} imports {other}" for line, other in found if not may_import(name, other)]
    assert wrong == []


@pytest.mark.parametrize(
    ("importer", "line"),
    [
        ("devlint.cli", "import torch"),
        ("devlint.cli", "from devlint import analysis"),
        ("devlint.analysis.interpreter.calls", "import libcst"),
        ("devlint.analysis.interpreter.calls", "from devlint import rule"),
        ("devlint.domain.value", "from devlint.facts import Fact"),
        ("devlint.domain.value", "from devlint.frontend.lower import lower"),
        ("devlint.frontend.lower", "from devlint.frontend.concrete import check"),
        ("devlint.facts", "def late():\n    from ..devlint.analysis import Analyser"),
        ("devlint.torchlib.catalogue", "from devlint.analysis.transfers import tensors"),
        ("devlint.report.text", "from .. import engine"),
        ("devlint_rules.discarded_move", "from devlint.analysis import Analyser"),
        ("devlint_rules.discarded_move", "from devlint_rules import unguarded_cuda"),
        ("devlint_rules.discarded_move", "from devlint.domain.value import Value"),
        ("devlint_guard.reveal", "import libcst"),
        ("devlint_guard.reveal", "from devlint import errors"),
        ("devlint.new_file", "from devlint import errors"),
        ("devlint.cache", "from devlint.fixes import repair"),
        ("devlint.engine", "from devlint.writing import write"),
        ("devlint.editor.server", "import devlint_guard"),
        ("devlint_guard.reveal", "from devlint_guard.rehearsal import rehearse"),
        ("devlint_guard.explain.operands", "from devlint_guard.advise import edits"),
        ("devlint_pytest", "import numpy"),
    ],
)
def test_a_forbidden_import_is_caught(importer: str, line: str) -> None:
    assert [found for found in imports(importer, line) if not may_import(importer, found.name)]


@functools.cache
def imported_by_file() -> dict[str, set[str]]:
    """Return for each source file the files of ours that it imports, for type checkers too."""
    found = {}
    for name, path in source_files():
        text = path.read_text(encoding="utf-8")
        found[name] = {one.name for one in imports(name, text, package=path.name == "__init__.py")} & NAMES - {name}
    return found


def test_no_files_import_each_other_in_a_circle() -> None:
    remaining = imported_by_file()
    while True:
        # What imports nothing that remains is in no circle, nor is what nothing that remains imports.
        ends = {name for name, others in remaining.items() if not others & remaining.keys()}
        ends |= remaining.keys() - set().union(*remaining.values())
        if not ends:
            break
        remaining = {name: others for name, others in remaining.items() if name not in ends}
    assert remaining == {}


def test_the_tables_name_what_exists() -> None:
    tables = (*READERS.items(), *SEEN.items(), *(("devlint", layer) for layer in (*LAYERS, *GUARD_LAYERS)))
    named = {area for key, areas in tables for area in (key, *areas) if area.startswith("devlint")}
    assert named - NAMES == set()


ANALYSIS = REPOSITORY / "linter" / "devlint" / "analysis"
GUARD = REPOSITORY / "runtime_guard" / "devlint_guard"
STEPS = [
    *sorted(path.parent for path in ANALYSIS.glob("*/__init__.py")),
    ANALYSIS.parent / "domain",
    *(GUARD / name for name in ("program", "record", "explain", "advise", "findings", "watch")),
]


@pytest.mark.parametrize("package", STEPS, ids=[step.name for step in STEPS])
def test_each_package_of_steps_lists_its_files_from_the_bottom_up(package: Path) -> None:
    listed = re.findall(r"^\* `(\w+)`:", (package / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in package.glob("*.py") if path.stem != "__init__")
    area = ".".join(package.relative_to(REPOSITORY).parts[1:])
    files = imported_by_file()
    for number, name in enumerate(listed):
        below = {f"{area}.{one}" for one in listed[:number]}
        assert {other for other in files[f"{area}.{name}"] if within(other, area)} - {area} <= below, name


def test_the_page_of_the_linter_follows_a_value_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = doctest.testfile(str(REPOSITORY / "linter" / "README.md"), module_relative=False, encoding="utf-8")
    assert done.attempted > 10
    assert done.failed == 0


def test_no_file_is_too_long() -> None:
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in source_files()}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}
