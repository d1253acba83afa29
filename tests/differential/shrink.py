"""Makes a disagreement small: by statements, then by parts of expressions, as long as the same
disagreement stays."""

from __future__ import annotations

from dataclasses import replace

from tests.differential.comparison import Comparer, Disagreement

ATTEMPTS = 200
"""After so many programs what is left is small enough."""


def shrunken(disagreement: Disagreement, comparer: Comparer) -> Disagreement:
    """The same kind of disagreement about a program of which nothing can be dropped."""
    attempts = 0
    progress = True
    while progress:
        progress = False
        for program in disagreement.program.smaller():
            attempts += 1
            if attempts > ATTEMPTS:
                return disagreement
            same = [
                each
                for each in comparer.compare(program).disagreements
                if (each.what, each.about) == (disagreement.what, disagreement.about)
            ]
            if same:
                disagreement = replace(same[0], program=program)
                progress = True
                break
    return disagreement
