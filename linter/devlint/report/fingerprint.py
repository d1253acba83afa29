"""Names a diagnostic so that it is recognised after its line has moved."""

from __future__ import annotations

import hashlib
from collections import Counter

from devlint.report.outcome import Outcome


def fingerprints(outcome: Outcome) -> tuple[str, ...]:
    """Return one fingerprint per diagnostic, in order.

    It is a hash of the rule, the file, the source line without its white space, and which of the diagnostics
    alike in these three it is; code added above or below does not change it, for line numbers play no part.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    found: list[str] = []
    for diagnostic in outcome.diagnostics:
        line = outcome.line(diagnostic.place.file, diagnostic.place.line) or ""
        key = (diagnostic.code, diagnostic.place.file, "".join(line.split()))
        text = "\0".join((*key, str(seen[key])))
        seen[key] += 1
        found.append(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32])
    return tuple(found)
