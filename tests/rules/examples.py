"""The programs that a rule's documentation shows."""

from __future__ import annotations

import textwrap

from devlint.rule import Rule

PROGRAM_HEADINGS = ("Example", "Use instead")


def examples(rule: type[Rule]) -> list[str]:
    """What stands under "Example" and "Use instead", each as complete runnable text.

    Empty for a rule without facts of its own: it documents what the engine reports, which no program shows.
    """
    if not (rule.wants or rule.mentions):
        return []
    return [_program(rule.sections()[heading]) for heading in PROGRAM_HEADINGS]


def _program(section: str) -> str:
    """The indented lines of a section."""
    lines = [line for line in section.splitlines() if not line.strip() or line.startswith("    ")]
    return textwrap.dedent("\n".join(lines)).strip("\n") + "\n"
