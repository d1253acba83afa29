"""Finds the rules: walks every rule package, checks the rules there, and never names a rule itself."""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

from devlint.errors import ConfigError, RuleError

if TYPE_CHECKING:
    from devlint.declarations import Declaration
    from devlint.rule import Rule

GROUP = "devlint.rules"
"""The entry-point group in which an installed distribution names its rule package."""

DEFAULT_PACKAGES = ("devlint_rules",)
"""The packages to walk when no distribution names one, as in a checkout that is not installed."""


def load_rules(packages: Iterable[str] | None = None) -> tuple[type[Rule], ...]:
    """All rules, sorted by code.

    Args:
        packages: the packages to walk; by default those of the entry-point group, else `DEFAULT_PACKAGES`.

    Raises:
        RuleError: a package cannot be imported, a rule does not keep its contract, or two rules share a code
            or a name.
    """
    from devlint.rule import validate

    names = tuple(packages) if packages is not None else packages_of_rules()
    rules: dict[str, type[Rule]] = {}
    for package in dict.fromkeys(names):
        for rule in _rules_of(package):
            validate(rule)
            for other in rules.values():
                _require_unique(rule, other)
            rules[rule.code] = rule
    return tuple(rule for _, rule in sorted(rules.items()))


def rule_of(declaration: Declaration) -> type[Rule]:
    """Return the rule of a declaration, loaded if it is not yet."""
    return cast("type[Rule]", getattr(importlib.import_module(declaration.module), declaration.cls))


def find(text: str, rules: Sequence[type[Rule]]) -> type[Rule]:
    """The rule with that code or name, in any case.

    Raises:
        ConfigError: there is none; the message offers similar names.
    """
    wanted = text.strip().lower()
    for rule in rules:
        if wanted in (rule.code.lower(), rule.name, *rule.former_names):
            return rule
    offer = candidates(text, rules)
    hint = f"; did you mean {' or '.join(offer)}?" if offer else ""
    raise ConfigError(f"unknown rule {text!r}{hint}")


_LOOKS_LIKE = str.maketrans("oil", "011")
"""Letters that are mistaken for digits."""


def candidates(text: str, rules: Sequence[type[Rule] | Declaration]) -> tuple[str, ...]:
    """Up to three codes or names that are spelled much like the text, best first."""
    by_key = {key.lower(): key for rule in rules for key in (rule.code, rule.name)}
    written = text.strip().lower()
    alike = [key for key in by_key if key.translate(_LOOKS_LIKE) == written.translate(_LOOKS_LIKE)]
    close = difflib.get_close_matches(written, list(by_key), n=3, cutoff=0.6)
    return tuple(by_key[key] for key in dict.fromkeys(alike + close))[:3]


def packages_of_rules() -> tuple[str, ...]:
    """The packages that installed distributions name.

    Distributions are folders beside the packages, see https://packaging.python.org/specifications/entry-points/.
    `importlib.metadata`, which knows of archives too, takes longer to load than all of this.
    """
    named = {name for folder in sys.path for file in _entry_points_in(folder or ".") for name in _named_in(file)}
    return tuple(sorted(named)) or DEFAULT_PACKAGES


def _entry_points_in(folder: str) -> Iterator[str]:
    """The files with the entry points of the distributions in a folder."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith((".dist-info", ".egg-info")):
            yield os.path.join(entry.path, "entry_points.txt")


def _named_in(file: str) -> Iterator[str]:
    """The values in a file's section for rules."""
    try:
        text = Path(file).read_bytes().decode("utf-8", "replace")
    except OSError:
        return
    section = ""
    for line in map(str.strip, text.splitlines() if GROUP in text else ()):
        if line.startswith("["):
            section = line.strip("[]")
        elif section == GROUP and not line.startswith("#") and "=" in line:
            yield line.partition("=")[2].strip()


def _rules_of(package: str) -> Iterator[type[Rule]]:
    """The rule classes defined in a package's modules; a module whose name starts with `_` holds none."""
    from devlint.rule import Rule

    root = _import(package)
    inner = (found.name for found in pkgutil.iter_modules(getattr(root, "__path__", ()), f"{package}."))
    for name in (package, *inner):
        if name.rpartition(".")[2].startswith("_"):
            continue
        for value in vars(_import(name)).values():
            if inspect.isclass(value) and issubclass(value, Rule) and value.__module__ == name:
                yield value


def _import(name: str) -> ModuleType:
    """Imports a part of a rule package.

    Raises:
        RuleError: whatever the import raised, in words.
    """
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise RuleError(f"cannot import {name}: {type(error).__name__}: {error}") from error


def _require_unique(rule: type[Rule], other: type[Rule]) -> None:
    taken = {other.name, *other.former_names}
    shared = [f"code {rule.code}"] if rule.code == other.code else []
    shared += [f"name {name}" for name in (rule.name, *rule.former_names) if name in taken]
    if shared:
        where = f"{other.__module__}.{other.__name__}"
        message = f"rule {rule.__name__}: {where} has the {shared[0]} too"
        raise RuleError(message, path=inspect.getsourcefile(rule), line=inspect.getsourcelines(rule)[1])
