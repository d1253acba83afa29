"""Who may import what, and how large a file may be."""

from __future__ import annotations

import ast
import doctest
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import REPOSITORY

ROOTS = ("linter", "rules", "runtime_guard")
LONGEST_FILE = 600

# For each source file, by the longest prefix that names it: what it may import. A package stands for all that is
# in it, except for what has a line of its own. Every file may also import the standard library, what is in `COMMON`
# and, where `TOGETHER` says so, the other files of its own package.
ALLOWED: Mapping[str, tuple[str, ...]] = {
    # The door: commands and what they print.
    "devlint.__main__": ("devlint.cli",),
    "devlint.cli": (
        "click",
        "devlint.cli.run",
        "devlint.cli.rehearse",
        "devlint.engine",
        "devlint.cache",
        "devlint.settings",
        "devlint.report",
        "devlint.fixes",
        "devlint.explain",
        "devlint.registry",
        "devlint.writing",
        "devlint.acceptance",
        "devlint.initial",
        "devlint.watching",
        "devlint.retired",
        "devlint.retired_rules",
        "devlint.configuration",
        "devlint.project",
        "devlint.diagnostics",
        "devlint.errors",
        "devlint.view",
        "devlint.editor",
        "pygls",
    ),
    "devlint.cli.run": ("click", "devlint_guard"),
    "devlint.cli.rehearse": (
        "click",
        "devlint.cli.run",
        "devlint.cli.terminal",
        "devlint.proving",
        "devlint.settings",
        "devlint.writing",
        "devlint.errors",
        "devlint_guard",
        "devlint_guard.rehearsal",
    ),
    # Runs the guard in processes of their own, and imports nothing of it.
    "devlint.proving": (
        "devlint.engine",
        "devlint.fixes",
        "devlint.decoding",
        "devlint.project",
        "devlint.settings",
        "devlint.diagnostics",
        "devlint.errors",
        "devlint.writing",
    ),
    "devlint.explain": (
        "devlint.configuration_keys",
        "devlint.declarations",
        "devlint.settings",
        "devlint.sources",
        "devlint.project",
        "devlint.registry",
        "devlint.retired_rules",
        "devlint.rule",
        "devlint.facts",
        "devlint.diagnostics",
    ),
    # The run: which files, which rules, in which order.
    "devlint.engine": (
        "devlint.add_ignores",
        "devlint.base_revision",
        "devlint.chosen_reports",
        "devlint.configuration",
        "devlint.sources",
        "devlint.pool",
        "devlint.cache",
        "devlint.fixes",
        "devlint.importers",
        "devlint.inspector",
        "devlint.discovery",
        "devlint.decoding",
        "devlint.project",
        "devlint.baseline",
        "devlint.report",
        "devlint.retired_rules",
        "devlint.selection",
        "devlint.settings",
        "devlint.shown_by_calls",
        "devlint.facts",
        "devlint.diagnostics",
        "devlint.errors",
    ),
    "devlint.cache": (
        "devlint.discovery",
        "devlint.errors",
        "devlint.importers",
        "devlint.declarations",
        "devlint.inspector",
        "devlint.project",
        "devlint.registry",
        "devlint.settings",
        "devlint.definitions",
        "devlint.reads",
        "devlint.traces",
        "devlint.diagnostics",
    ),
    "devlint.pool": ("devlint.inspector", "devlint.settings"),
    "devlint.inspector": (
        "devlint.sources",
        "devlint.discovery",
        "devlint.analysis",
        "devlint.fixes.closed",
        "devlint.frontend.concrete",
        "devlint.frontend.pieces",
        "devlint.registry",
        "devlint.selection",
        "devlint.audit",
        "devlint.decoding",
        "devlint.project",
        "devlint.settings",
        "devlint.one_cause",
        "devlint.shown_by_calls",
        "devlint.facts",
        "devlint.traces",
        "devlint.diagnostics",
        "devlint.errors",
    ),
    "devlint.initial": (
        "devlint.acceptance",
        "devlint.baseline",
        "devlint.configuration",
        "devlint.project",
        "devlint.settings",
        "devlint.writing",
        "devlint.errors",
    ),
    "devlint.watching": (),
    "devlint.flake8": ("devlint.engine", "devlint.cache", "devlint.settings", "devlint.shown_by_calls"),
    "devlint.shown_by_calls": ("devlint.diagnostics",),
    "devlint.one_cause": ("devlint.diagnostics",),
    "devlint.configuration": (
        "tomli",
        "devlint.configuration_keys",
        "devlint.retired",
        "devlint.project",
        "devlint.settings",
        "devlint.diagnostics",
        "devlint.errors",
    ),
    "devlint.addresses": (),
    "devlint.configuration_keys": ("devlint.retired", "devlint.diagnostics"),
    "devlint.writing": ("devlint.errors",),
    "devlint.baseline": (
        "devlint.configuration",
        "devlint.project",
        "devlint.report",
        "devlint.selection",
        "devlint.settings",
        "devlint.writing",
        "devlint.diagnostics",
        "devlint.errors",
    ),
    "devlint.acceptance": (
        "devlint.configuration",
        "devlint.engine",
        "devlint.inspector",
        "devlint.baseline",
        "devlint.project",
        "devlint.settings",
        "devlint.errors",
    ),
    "devlint.discovery": (
        "devlint.patterns",
        "devlint.configuration",
        "devlint.sources",
        "devlint.project",
        "devlint.settings",
        "devlint.errors",
    ),
    "devlint.importers": ("devlint.project", "devlint.definitions", "devlint.traces", "devlint.errors"),
    "devlint.sources": ("devlint.diagnostics", "devlint.errors"),
    "devlint.decoding": ("devlint.sources", "devlint.errors"),
    "devlint.project": (
        "devlint.decoding",
        "devlint.sources",
        "devlint.reads",
        "devlint.traces",
        "devlint.errors",
    ),
    # What results rest on, as plain data.
    "devlint.definitions": (),
    "devlint.reads": ("devlint.definitions",),
    "devlint.traces": (),
    "devlint.patterns": (),
    "devlint.settings": ("devlint.patterns", "devlint.diagnostics", "devlint.errors"),
    "devlint.selection": (
        "devlint.patterns",
        "devlint.registry",
        "devlint.retired_rules",
        "devlint.declarations",
        "devlint.settings",
        "devlint.diagnostics",
        "devlint.errors",
    ),
    # For the tests of rule packages; nothing of the product imports it.
    "devlint.testing": ("devlint.engine", "devlint.settings", "devlint.diagnostics", "devlint.errors"),
    "devlint.suppressions": ("devlint.diagnostics",),
    "devlint.add_ignores": (
        "devlint.fixes",
        "devlint.suppressions",
        "devlint.selection",
        "devlint.sources",
        "devlint.decoding",
        "devlint.project",
        "devlint.diagnostics",
        "devlint.errors",
    ),
    "devlint.base_revision": ("devlint.sources", "devlint.decoding", "devlint.project", "devlint.errors"),
    "devlint.chosen_reports": (
        "devlint.base_revision",
        "devlint.inspector",
        "devlint.discovery",
        "devlint.importers",
        "devlint.report",
        "devlint.decoding",
        "devlint.project",
        "devlint.selection",
        "devlint.shown_by_calls",
        "devlint.suppressions",
        "devlint.diagnostics",
    ),
    "devlint.audit": (
        "devlint.suppressions",
        "devlint.selection",
        "devlint.registry",
        "devlint.declarations",
        "devlint.diagnostics",
    ),
    "devlint.registry": ("devlint.rule", "devlint.declarations", "devlint.errors"),
    "devlint.declarations": ("devlint.rule", "devlint.facts", "devlint.diagnostics"),
    "devlint.report": ("devlint.diagnostics", "devlint.errors"),
    "devlint.editor": (
        "devlint.retired_rules",
        "devlint.cache",
        "devlint.discovery",
        "devlint.importers",
        "pygls",
        "lsprotocol",
        "devlint.engine",
        "devlint.fixes",
        "devlint.inspector",
        "devlint.pool",
        "devlint.frontend.concrete",
        "devlint.decoding",
        "devlint.project",
        "devlint.registry",
        "devlint.report",
        "devlint.settings",
        "devlint.suppressions",
        "devlint.facts",
        "devlint.traces",
        "devlint.domain.device",
        "devlint.diagnostics",
        "devlint.errors",
    ),
    "devlint.view": (
        "devlint.sources",
        "devlint.inspector",
        "devlint.decoding",
        "devlint.project",
        "devlint.report",
        "devlint.facts",
        "devlint.domain.device",
        "devlint.diagnostics",
    ),
    # Fixes are edits; nothing else writes source files.
    "devlint.fixes": (
        "devlint.sources",
        "devlint.writing",
        "devlint.decoding",
        "devlint.project",
        "devlint.selection",
        "devlint.diagnostics",
        "devlint.errors",
    ),
    "devlint.fixes.closed": ("devlint.diagnostics",),
    # What a rule asks before it offers a fix.
    "devlint.fixes.names": ("libcst", "devlint.syntax", "devlint.diagnostics"),
    "devlint.fixes.placing": (
        "libcst",
        "devlint.fixes.names",
        "devlint.sources",
        "devlint.syntax",
        "devlint.diagnostics",
    ),
    # Plain data that crosses boundaries.
    "devlint.quoting": (),
    "devlint.reading": (),
    "devlint.retired": (),
    "devlint.retired_rules": (),
    "devlint.errors": (),
    "devlint.diagnostics": (),
    "devlint.facts": ("devlint.domain", "devlint.diagnostics"),
    "devlint.rule": (
        "libcst",
        "devlint.addresses",
        "devlint.declarations",
        "devlint.syntax",
        "devlint.sources",
        "devlint.frontend.pieces",
        "devlint.facts",
        "devlint.diagnostics",
        "devlint.errors",
    ),
    "devlint.syntax": ("libcst", "devlint.frontend.pieces", "devlint.sources", "devlint.diagnostics"),
    # Source to IR by the standard library's `ast`; only `pieces` and `concrete` see LibCST.
    "devlint.frontend": ("devlint.definitions",),
    "devlint.frontend.pieces": ("libcst", "devlint.frontend.flattening"),
    "devlint.frontend.concrete": (
        "libcst",
        "devlint.frontend.flattening",
        "devlint.frontend.pieces",
        "devlint.rule",
        "devlint.sources",
        "devlint.facts",
        "devlint.diagnostics",
        "devlint.errors",
    ),
    # The analysis: IR and signatures over the domain, to facts.
    "devlint.domain": ("devlint.frontend.ir",),
    "devlint.analysis": (
        "devlint.definitions",
        "devlint.importers",
        "devlint.domain",
        "devlint.frontend.ir",
        "devlint.frontend.lower",
        "devlint.torchlib",
        "devlint.project",
        "devlint.reads",
        "devlint.facts",
        "devlint.diagnostics",
        "devlint.errors",
    ),
    "devlint.torchlib": ("devlint.errors",),
    # Rules see facts, never how they were found; and no rule sees another, only what they share.
    "devlint_rules": (
        "libcst",
        "devlint.rule",
        "devlint.syntax",
        "devlint.fixes.names",
        "devlint.fixes.placing",
        "devlint.facts",
        "devlint.diagnostics",
        "devlint.domain.device",
    ),
    # The guard stands alone.
    "devlint_guard": ("torch",),
    "devlint_guard.rehearsal": ("torch", "devlint_guard"),
    "devlint_guard.integrations": (
        "torch",
        "devlint_guard",
        "devlint_guard.integrations.lightning",
        "devlint_guard.integrations.transformers",
    ),
    "devlint_guard.integrations.lightning": ("devlint_guard", "devlint_guard.integrations", "lightning"),
    "devlint_guard.integrations.transformers": ("devlint_guard", "devlint_guard.integrations", "transformers"),
    "devlint_pytest": ("pytest", "devlint_guard", "devlint_guard.rehearsal"),
}

COMMON = ("devlint", "devlint.records", "devlint.quoting", "devlint.reading")
"""The version, what plain data is made with, how text that may act is printed, and how files are read."""

TOGETHER = (
    "devlint.cli",
    "devlint.frontend",
    "devlint.domain",
    "devlint.analysis",
    "devlint.torchlib",
    "devlint.report",
    "devlint.view",
    "devlint.sources",
    "devlint.editor",
    "devlint.cache",
    "devlint.fixes",
    "devlint_guard",
    "devlint_guard.rehearsal",
    "devlint_guard.integrations",
)


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


def _longest(name: str, areas: Mapping[str, object] | tuple[str, ...]) -> str | None:
    return max((area for area in areas if within(name, area)), key=len, default=None)


def may_import(importer: str, imported: str) -> bool:
    """Whether the table allows it."""
    # tomllib is of the standard library since 3.11, and older versions of Python are spared the import.
    if imported.partition(".")[0] in {*sys.stdlib_module_names, "tomllib"} or imported in COMMON:
        return True
    area = _longest(importer, ALLOWED)
    if area is None:
        return False
    if area in TOGETHER and _longest(imported, ALLOWED) == area:
        return True
    if area == "devlint_rules" and within(imported, "devlint_rules.support"):
        return True
    # A part with a line of its own, such as `frontend.concrete`, is not meant by the name of the whole.
    allowed = _longest(imported, ALLOWED[area])
    own = _longest(imported, ALLOWED)
    return allowed is not None and (own is None or len(own) <= len(allowed))


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
    ],
)
def test_a_forbidden_import_is_caught(importer: str, line: str) -> None:
    assert [found for found in imports(importer, line) if not may_import(importer, found.name)]


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
    ("devlint.addresses", "devlint.retired_rules"),
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
    ("devlint.selection", "devlint.explain"),
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


def test_each_file_imports_layers_below_its_own() -> None:
    layer_of = {area: number for number, layer in enumerate(LAYERS) for area in layer}
    wrong = []
    for name, others in imported_by_file().items():
        if not within(name, "devlint"):
            continue
        area = _area(name, layer_of)
        for other in sorted(one for one in others if within(one, "devlint")):
            below = _area(other, layer_of)
            if below != area and layer_of[below] >= layer_of[area]:
                wrong.append(f"{name} imports {other}")
    assert wrong == []


def _area(name: str, areas: Mapping[str, int]) -> str:
    """Return the area of `LAYERS` that a file of the linter belongs to; `devlint` itself is one file."""
    return name if name == "devlint" else max((one for one in areas if within(name, one)), key=len)


def test_the_table_names_what_exists() -> None:
    ours = [area for areas in ALLOWED.values() for area in areas if area.startswith("devlint")]
    assert {area for area in (*ALLOWED, *ours) if area not in NAMES} == set()


ANALYSIS = REPOSITORY / "linter" / "devlint" / "analysis"
STEPS = [*sorted(path.parent for path in ANALYSIS.glob("*/__init__.py")), ANALYSIS.parent / "domain"]


@pytest.mark.parametrize("package", STEPS, ids=[step.name for step in STEPS])
def test_each_step_of_the_analysis_lists_its_files_from_the_bottom_up(package: Path) -> None:
    listed = re.findall(r"^\* `(\w+)`:", (package / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in package.glob("*.py") if path.stem != "__init__")
    area = ".".join(package.relative_to(REPOSITORY / "linter").parts)
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
