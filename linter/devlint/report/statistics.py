"""`--statistics`: the number of reports per rule instead of the reports."""

from __future__ import annotations

from collections import Counter

from devlint.report.json import text_of
from devlint.report.outcome import Outcome


def render(outcome: Outcome, output_format: str) -> str:
    """Render the most frequent rule first, as rows of text or, for the format `json`, as a list of objects."""
    counts = Counter((diagnostic.code, diagnostic.rule) for diagnostic in outcome.diagnostics)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    if output_format == "json":
        listed = [{"code": code, "rule": rule, "count": count} for (code, rule), count in rows]
        return text_of(listed)
    width = max((len(str(count)) for _, count in rows), default=0)
    return "".join(f"{count:>{width}}  {code}  {rule}\n" for (code, rule), count in rows)
