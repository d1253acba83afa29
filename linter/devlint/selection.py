"""Which rules are on for a file and how severe they are: resolves selectors against the rules there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from devlint.declarations import Declaration
from devlint.diagnostics import Diagnostic, Severity
from devlint.errors import ConfigError
from devlint.patterns import Patterns
from devlint.records import dataclass
from devlint.retired import RETIRED, Retired
from devlint.settings import Configuration, Settings, patterns_of

Rules: TypeAlias = tuple[Declaration, ...]

ALWAYS = {"DEV901": "syntax-error", "DEV903": "internal-error"}
"""What says that a file could not be analysed; it is always reported, as an error."""

_GROUP, _EXACT = 4, 100
"""How closely `DEV1`, and how closely a code or name selects a rule."""


def specificity(selector: str, rule: Declaration | Retired) -> int | None:
    """Return how closely a selector names a rule, None if not: `ALL` < `DEV1` < `DEV101` = a name of the rule."""
    wanted = selector.strip()
    if wanted.upper() == "ALL":
        return 0
    if wanted.lower() in rule.names or wanted.upper() == rule.code:
        return _EXACT
    if re.fullmatch(r"[A-Z]+[0-9]*", wanted.upper()) and rule.code.startswith(wanted.upper()):
        return len(wanted)
    return None


def retired_by(selector: str, rules: Iterable[Declaration]) -> frozenset[str]:
    """Return the codes of the retired rules that a selector names; a group of rules, and what covers a rule, do not."""
    codes = frozenset(one.code for one in RETIRED if (specificity(selector, one) or 0) > _GROUP)
    return codes if codes and not any(specificity(selector, rule) is not None for rule in rules) else frozenset()


def covering(rules: Rules) -> Callable[[str, Diagnostic], bool]:
    """Return a function that tells whether a selector covers the rule of a diagnostic, which is one of `rules`."""
    by_code = {rule.code: rule for rule in rules}

    def covers(selector: str, diagnostic: Diagnostic) -> bool:
        return specificity(selector, by_code[diagnostic.code]) is not None

    return covers


@dataclass(frozen=True, slots=True)
class _Layer:
    """One source of wishes; a later layer wins over an earlier one.

    Within a layer the closest selector wins, and of equally close ones `ignore`.
    """

    select: tuple[str, ...] | None
    extend: tuple[str, ...]
    ignore: tuple[str, ...]

    def applied(self, rule: Declaration, on: bool) -> bool:
        chosen = _closest((*(self.select or ()), *self.extend), rule)
        ignored = _closest(self.ignore, rule)
        if self.select is not None:
            on = False
        if chosen is not None and (ignored is None or chosen > ignored):
            return True
        return on and ignored is None


def _closest(selectors: Iterable[str], rule: Declaration) -> int | None:
    found = [specificity(selector, rule) for selector in selectors]
    return max((close for close in found if close is not None), default=None)


@dataclass(frozen=True, slots=True)
class Selection:
    """The rules of one configuration under one command line."""

    enabled: Rules
    _root: Path
    _ignores: tuple[tuple[Patterns, tuple[str, ...]], ...]
    _severities: Mapping[str, Severity]

    def rules_for(self, path: Path) -> Rules:
        """Return the rules that are on for a file."""
        if not path.is_relative_to(self._root):
            return self.enabled
        name = path.relative_to(self._root).as_posix()
        ignored = [code for patterns, codes in self._ignores if patterns.covers(name) for code in codes]
        return tuple(rule for rule in self.enabled if _closest(ignored, rule) is None)

    def graded(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return the diagnostic with the severity that the configuration asks for."""
        severity = self._severities.get(diagnostic.code)
        return diagnostic if severity is None else replace(diagnostic, severity=severity)


def select_rules(settings: Settings, configuration: Configuration, rules: Rules) -> Selection:
    """Resolve every selector of the command line and of a configuration.

    Raises:
        ConfigError: a selector names no rule, or a pattern is none.
    """
    for where, file, named in _selectors(settings, configuration):
        _require_known(named, rules, where, file)
    layers = (
        _Layer(configuration.select, configuration.extend_select, configuration.ignore),
        _Layer(settings.select, settings.extend_select, settings.ignore),
    )
    enabled: list[Declaration] = []
    for rule in rules:
        on = not rule.opt_in
        for layer in layers:
            on = layer.applied(rule, on)
        if on:
            enabled.append(rule)
    ignores = tuple(
        (patterns_of([pattern], "per-file-ignores", configuration), codes)
        for pattern, codes in configuration.per_file_ignores
    )
    severities = {rule.code: asked for rule in rules if (asked := _severity(configuration, rule)) is not None}
    return Selection(tuple(enabled), configuration.folder_of("per-file-ignores"), ignores, severities)


def _severity(configuration: Configuration, rule: Declaration) -> Severity | None:
    """Return the severity that a configuration asks for; the closest selector wins, and of equals the last one."""
    best, found = -1, None
    for selector, severity in configuration.severity:
        close = specificity(selector, rule)
        if close is not None and close >= best:
            best, found = close, severity
    return found


def selectors(settings: Settings, configuration: Configuration) -> list[str]:
    """Return all selectors, which may be wrong."""
    return [selector for _, _, named in _selectors(settings, configuration) for selector in named]


def _selectors(settings: Settings, configuration: Configuration) -> Iterator[tuple[str, str | None, Sequence[str]]]:
    """Yield the selectors by the option, or by the key and its file, that they are given for."""
    options = (
        ("select", "ignore", "extendSelect") if settings.in_editor else ("--select", "--ignore", "--extend-select")
    )
    given = (settings.select or (), settings.ignore, settings.extend_select)
    yield from zip(options, (None, None, None), given, strict=True)
    file = configuration.file
    yield "select", file, configuration.select or ()
    yield "ignore", file, configuration.ignore
    yield "extend-select", file, configuration.extend_select
    yield "severity", file, [selector for selector, _ in configuration.severity]
    yield from ((f'per-file-ignores."{pattern}"', file, codes) for pattern, codes in configuration.per_file_ignores)


def _require_known(selectors: Sequence[str], rules: Rules, where: str, file: str | None) -> None:
    for selector in selectors:
        name = selector.strip()
        if "select" not in where.lower() and (name.upper() in ALWAYS or name.lower() in ALWAYS.values()):
            why = "says that a file could not be analysed, and always does; exclude the file instead"
            raise ConfigError(f"{where}: {selector} {why}", path=file)
        if retired_by(name, ()) or any(specificity(name, rule) is not None for rule in rules):
            continue
        from devlint.registry import candidates

        offer = candidates(name, rules)
        hint = f"; did you mean {' or '.join(offer)}?" if offer else "; `devlint rules` lists them"
        raise ConfigError(f'{where}: unknown rule "{selector}"{hint}', path=file)
