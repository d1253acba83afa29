"""What devlint says about itself: the text of a rule, the list of rules, the facts of a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from enum import Enum
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from textwrap import shorten
from typing import Any

from devlint.configuration_keys import KEYS, Kind
from devlint.declarations import Declaration
from devlint.diagnostics import Place, Severity
from devlint.facts import FileFacts, Meeting, Step
from devlint.project import Source, display_path
from devlint.quoting import printable, printable_log
from devlint.registry import find
from devlint.retired import RETIRED, remark
from devlint.rule import Rule
from devlint.settings import Configuration
from devlint.sources.places import in_cell


def explain(text: str, rules: Sequence[type[Rule]]) -> str:
    """Return the documentation of the rule with that code or name; codes of the guard and retired rules are known too.

    Raises:
        ConfigError: there is no such rule; the message offers similar names.
    """
    codes = _guard_codes()
    for code, documentation in codes.TEXTS.items() if codes is not None else ():
        if text.strip().lower() in (code.lower(), codes.NAMES[code]):
            return f"{code} {codes.NAMES[code]} (of the guard)\n\n{documentation}"
    for retired in RETIRED:
        if retired.is_called(text):
            return f"{retired.code} {retired.names[0]} (retired)\n\n{remark([retired.code])}.\n"
    rule = find(text, rules)
    former = "".join(f"Its former name is `{name}`.\n" for name in rule.former_names)
    return f"{rule.code} {rule.name} ({rule.standing()})\n{former}\n{rule.documentation_for_users()}\n"


def _guard_codes() -> Any:
    """Return the guard's module of codes, which imports nothing; None if the guard is not installed.

    The file is executed by itself, since its package imports torch.
    """
    package = find_spec("devlint_guard")
    for folder in (package.submodule_search_locations or ()) if package is not None else ():
        spec = spec_from_file_location("devlint_guard_codes", Path(folder) / "codes.py")
        if spec is not None and spec.loader is not None:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    return None


WIDTH = 120
"""The longest line in a list of rules."""


def list_rules(rules: Sequence[type[Rule]], output_format: str) -> str:
    """Return all rules, one a line or as JSON."""
    if output_format == "json":
        listed = [
            {
                "code": rule.code,
                "rule": rule.name,
                "severity": rule.severity.value,
                "opt_in": rule.opt_in,
                "title": rule.title(),
                "summary": rule.summary(),
            }
            for rule in rules
        ]
        return json.dumps(listed, indent=2) + "\n"
    rows = [(rule.code, rule.name, rule.standing()) for rule in rules]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    text = ""
    for rule, row in zip(rules, rows, strict=True):
        columns = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        text += f"{columns}  {shorten(rule.title(), WIDTH - len(columns) - 2, placeholder='…')}\n"
    return text


def describe_settings(configuration: Configuration, root: Path, files: int, rules: Sequence[Declaration]) -> str:
    """Return what holds for some files of a project as TOML: each key, and the rules that are on as `select`."""
    many = "1 file" if files == 1 else f"{files} files"
    text = f"# {many} of {display_path(root)}, configured by {configuration.file or 'the defaults'}\n"
    text += _toml("select", [rule.code for rule in rules])
    tables = ""
    for key in KEYS:
        if key.name in ("extend", "select", "ignore", "extend-select"):  # resolved above
            continue
        value = getattr(configuration, key.field)
        if key.kind in (Kind.RULES_BY_PATTERN, Kind.SEVERITY_BY_RULE):
            entries = "".join(_toml(_quoted(name), entry) for name, entry in value)
            tables += f"\n[{key.name}]\n{entries}" if entries else ""
        elif value is not None:
            text += _toml(key.name, value)
    return printable_log(text + tables)


def _toml(key: str, value: object) -> str:
    if isinstance(value, (list, tuple)):
        return f"{key} = [{', '.join(_quoted(_text_of(entry)) for entry in value)}]\n"
    return f"{key} = {value}\n" if isinstance(value, int) else f"{key} = {_quoted(_text_of(value))}\n"


def _text_of(value: object) -> str:
    if isinstance(value, Path):
        return display_path(value)
    return value.value if isinstance(value, Severity) else str(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def describe_facts(facts: FileFacts, source: Source, line: int | None) -> str:
    """Return the known value of each place at each line, then the facts; only those of one line, if given.

    Lines of a notebook are counted through all its code cells where one is given, and printed by cell.
    """
    rows = [
        (_where(Place(source.display, number, 1, number, 1), source, column=False), printable(place), printable(value))
        for number, place, value in facts.environment
        if line is None or number == line
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    text = "".join(f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]}\n" for row in rows)
    for anchored in facts.facts:
        place = anchored.place
        if line is None or place.line <= line <= place.end_line:
            text += f"{_where(place, source)}  {type(anchored.fact).__name__}\n"
            text += "".join(
                f"    {field.name}: {printable(_value(getattr(anchored.fact, field.name), source))}\n"
                for field in fields(anchored.fact)
            )
    if not text:
        where = source.display if line is None else f"{source.display}:{line}"
        return f"{printable(where)}: devlint knows no value here\n"
    return text


def _where(place: Place, source: Source, *, column: bool = True) -> str:
    place = in_cell(place, source.cells) if place.file == source.display else place
    return printable(f"{place.source}:{place.line}" + (f":{place.column}" if column else ""))


def _value(value: object, source: Source) -> str:
    """Render a part of a fact on one line."""
    if isinstance(value, Place):
        return _where(value, source)
    if isinstance(value, tuple):
        return "; ".join(_value(entry, source) for entry in value) or "-"
    if isinstance(value, Meeting):
        return ", ".join(f"{field.name} {_value(getattr(value, field.name), source)}" for field in fields(value))
    if isinstance(value, Step):
        return f"{value.what} ({_value(value.place, source)})"
    if isinstance(value, Enum):
        value = value.value
    return str(value) if value not in ("", None) else "-"
