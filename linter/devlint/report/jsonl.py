"""The `jsonl` format: one JSON object a line, a diagnostic or a file that could not be analysed."""

from __future__ import annotations

from devlint.report.json import diagnostics_as_data, problem_as_data, text_of
from devlint.report.outcome import Outcome


def render(outcome: Outcome) -> str:
    """Render each diagnostic as the `json` format does, then the problems, each on a line of its own."""
    rows = [*diagnostics_as_data(outcome), *map(problem_as_data, outcome.problems)]
    return "".join(text_of(row, indent=None) for row in rows)
