"""Fixes: which of them go together, what a file is with them, and how it is written.

Diagnostics carry their fixes as edits, see `devlint.diagnostics.Fix`. For one of them, `apply` gives the new text;
for all of a file, `choose` says first which can be made at once. `Repair` makes what can be made, in rounds, and
keeps only what the analysis confirms.
"""

from devlint.fixes.applying import apply, apply_to_bytes
from devlint.fixes.changes import Change, unified_diff, write
from devlint.fixes.choosing import Choice, choose
from devlint.fixes.repair import Checked, Contents, Found, Repair, Settled

__all__ = [
    "Change",
    "Checked",
    "Choice",
    "Contents",
    "Found",
    "Repair",
    "Settled",
    "apply",
    "apply_to_bytes",
    "choose",
    "unified_diff",
    "write",
]
