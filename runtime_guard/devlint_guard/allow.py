"""What the guard is told to keep quiet about: for a stretch of code, or for some modules."""

from __future__ import annotations

import contextlib
import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar

from devlint_guard.codes import NAMES
from devlint_guard.errors import GuardUsageError
from devlint_guard.finding import Finding

_allowed: ContextVar[Mapping[str, str]] = ContextVar("devlint_allowed", default={})  # noqa: B039
"""The reason of each code that is allowed."""


def allow(*codes: str, reason: str = "") -> contextlib._GeneratorContextManager[None]:
    """Findings of these codes are no findings within: a context manager, or a decorator of a function.

    It holds for the thread, or the task, that enters it.

    Args:
        codes: codes (`DEV102`), beginnings of codes (`DEV1`) or names (`input-not-on-module-device`).
        reason: why; reports show it.

    Raises:
        GuardUsageError: one of them means no code.
    """
    return _allowing(dict.fromkeys(codes_meant(codes), reason))


@contextlib.contextmanager
def _allowing(codes: Mapping[str, str]) -> Iterator[None]:
    token = _allowed.set({**_allowed.get(), **codes})
    try:
        yield
    finally:
        _allowed.reset(token)


def reason_here(code: str) -> str | None:
    """The reason why findings of a code are allowed where the program is now; None where they are not."""
    return _allowed.get().get(code)


def codes_meant(texts: Iterable[str]) -> frozenset[str]:
    """The codes that codes, beginnings of codes and names stand for.

    Raises:
        GuardUsageError: one stands for none.
    """
    found: set[str] = set()
    for text in texts:
        meant = {code for code, name in NAMES.items() if text == name or (text and code.startswith(text))}
        if not meant:
            raise GuardUsageError(f"no code of the guard is called {text!r}; known are {', '.join(NAMES)}")
        found |= meant
    return frozenset(found)


class Allowances:
    """The entries of the option `allow`: codes and names as `allow` takes them, and patterns of module paths.

    Args:
        entries: `DEV201`, `unregistered-tensor-attribute`, `*.rotary_emb`, each perhaps with a reason.

    Raises:
        GuardUsageError: an entry looks like a code and is none.
    """

    def __init__(self, entries: Iterable[str] | Mapping[str, str]) -> None:
        reasons = dict(entries) if isinstance(entries, Mapping) else dict.fromkeys(entries, "")
        codes = [entry for entry in reasons if _CODE.fullmatch(entry) or entry in NAMES.values()]
        self._codes = {code: reasons[entry] for entry in codes for code in codes_meant([entry])}
        self._patterns = {entry: reason for entry, reason in reasons.items() if entry not in codes}

    def reason_for(self, finding: Finding) -> str | None:
        """Why a finding is allowed, by its code or by the path of its module or of an operand; None if it is not."""
        if finding.code in self._codes:
            return self._codes[finding.code]
        paths = [path for path in (finding.module, *(operand.qualified for operand in finding.operands)) if path]
        matching = (one for one in self._patterns if any(fnmatch.fnmatchcase(path, one) for path in paths))
        return next((self._patterns[one] for one in matching), None)


_CODE = re.compile(r"DEV\d*")
