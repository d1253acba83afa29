"""Names a diagnostic so that it is recognised after its line has moved."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping

from devlint.diagnostics import Diagnostic
from devlint.report.outcome import Outcome


def fingerprints(outcome: Outcome, *, file_name: Callable[[str], str] = str) -> Mapping[Diagnostic, str]:
    """Return the fingerprint of each diagnostic, silenced or not.

    It is a hash of the rule, the file, the source line without its white space, and which of the diagnostics
    alike in these three it is; code added above or below does not change it, for line numbers play no part.

    Args:
        outcome: the run.
        file_name: what to call a file, given as it is shown to the user.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    found: dict[Diagnostic, str] = {}
    for diagnostic in outcome.everything():
        line = outcome.line(diagnostic.place.source, diagnostic.place.line) or ""
        key = (diagnostic.code, file_name(diagnostic.place.file), "".join(line.split()))
        found[diagnostic] = of_text(*key, str(seen[key]))
        seen[key] += 1
    return found


def of_text(*parts: str) -> str:
    """Return a hash of the parts, the same on every machine."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
