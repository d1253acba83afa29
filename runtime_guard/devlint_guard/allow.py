"""What the guard is told to keep quiet about: for a stretch of code, or for some modules."""

from __future__ import annotations

import contextlib
import fnmatch
import re
from collections.abc import Iterable, Iterator
from contextvars import ContextVar

from devlint_guard.codes import NAMES
from devlint_guard.errors import GuardUsageError
from devlint_guard.finding import Finding

_allowed: ContextVar[frozenset[str]] = ContextVar("devlint_allowed", default=frozenset())


def allow(*codes: str, reason: str = "") -> contextlib._GeneratorContextManager[None]:
    """Findings of these codes are no findings within: a context manager, or a decorator of a function.

    It holds for the thread, or the task, that enters it.

    Args:
        codes: codes (`DEV102`), beginnings of codes (`DEV1`) or names (`input-not-on-module-device`).
        reason: why; for those who read the source.

    Raises:
        GuardUsageError: one of them means no code.
    """
    return _allowing(codes_meant(codes))


@contextlib.contextmanager
def _allowing(codes: frozenset[str]) -> Iterator[None]:
    token = _allowed.set(_allowed.get() | codes)
    try:
        yield
    finally:
        _allowed.reset(token)


def is_allowed(code: str) -> bool:
    """Whether findings of a code are allowed where the program is now."""
    return code in _allowed.get()


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
        entries: `DEV201`, `unregistered-tensor-attribute`, `*.rotary_emb`.

    Raises:
        GuardUsageError: an entry looks like a code and is none.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        entries = list(entries)
        codes = [entry for entry in entries if _CODE.fullmatch(entry) or entry in NAMES.values()]
        self._codes = codes_meant(codes)
        self._patterns = [entry for entry in entries if entry not in codes]

    def cover(self, finding: Finding) -> bool:
        """Whether a finding is allowed by its code, or by the path of its module or of an operand."""
        if finding.code in self._codes:
            return True
        paths = [finding.module, *(operand.qualified for operand in finding.operands)]
        return any(fnmatch.fnmatchcase(path, pattern) for path in paths if path for pattern in self._patterns)


_CODE = re.compile(r"DEV\d*")
