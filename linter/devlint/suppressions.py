"""Comments that silence diagnostics: `# devlint: ignore[…]`, `# devlint: ignore-file[…]` and `# noqa`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from devlint.diagnostics import Diagnostic, Place, Silenced, Silencer
from devlint.records import dataclass

ABOUT_SUPPRESSIONS = ("DEV902", "DEV904")
"""The codes of what is reported about suppressions themselves."""

_DEVLINT = r"#\s*devlint:\s*(?P<kind>ignore-file|ignore)(?![\w-])\s*(?:\[(?P<rules>[^\]]*)(?P<end>\])?)?"
_CODE = r"[A-Z]+[0-9][A-Z0-9]*"
_NOQA = rf"#\s*noqa(?![\w-])(?P<colon>\s*:\s*(?P<codes>{_CODE}(?:[\s,]+{_CODE})*)?)?"

MOST_IN_COMMENT = 100
"""How many suppressions of each kind one comment may hold; further ones do not count."""

Matches = Callable[[str, Diagnostic], bool]
"""Whether a selector (`DEV1`, `DEV101`, a rule name, `ALL`) covers the rule of a diagnostic."""


@dataclass(frozen=True, slots=True, order=True)
class Suppression:
    """One comment.

    Attributes:
        line, column: where the comment starts, from 1, in code points.
        text: the comment's own words, as found.
        rules: what it silences; None means every rule.
        whole_file: it holds for the file, not for its line.
        reason: the words after it.
        end: the column behind these words.
        noqa: it is a `# noqa`, which speaks to other tools as well.
    """

    line: int
    column: int
    text: str
    rules: tuple[str, ...] | None
    whole_file: bool
    reason: str = ""
    end: int = 0
    noqa: bool = False


Used: TypeAlias = frozenset[tuple[Suppression, str | None]]
"""The suppressions that silenced something, each with the selector that did; None where it has none."""


class Suppressions:
    """The suppressions of one file, and where its statements end."""

    def __init__(self, found: Sequence[Suppression], last_line: dict[int, int]) -> None:
        self.found = tuple(found)
        self._last_line = last_line
        self._by_line: dict[int | None, list[tuple[int, Suppression]]] = {}
        for number, entry in enumerate(found):
            self._by_line.setdefault(None if entry.whole_file else entry.line, []).append((number, entry))

    def apply(
        self, diagnostics: Sequence[Diagnostic], matches: Matches
    ) -> tuple[list[Diagnostic], list[Silenced], Used]:
        """Return the diagnostics that stay, those that do not, and what silenced them.

        A diagnostic loses its fix if that would change a line on which it is silenced.
        """
        kept: list[Diagnostic] = []
        silenced: list[Silenced] = []
        used: set[tuple[Suppression, str | None]] = set()
        for diagnostic in diagnostics:
            silencing = self._covering(diagnostic, diagnostic.place, matches)
            edits = () if diagnostic.fix is None else diagnostic.fix.edits
            forbidding = [pair for edit in edits for pair in self._covering(diagnostic, edit.place, matches)]
            used.update(silencing, forbidding)
            if silencing:
                silenced.append(Silenced(diagnostic, Silencer.COMMENT, silencing[0][0].reason))
            else:
                kept.append(replace(diagnostic, fix=None) if forbidding else diagnostic)
        return kept, silenced, frozenset(used)

    def _covering(self, diagnostic: Diagnostic, place: Place, matches: Matches) -> list[tuple[Suppression, str | None]]:
        """Return by what a diagnostic is silenced where it stands, or would be silenced at another place."""
        lines = {place.line, place.end_line, self._last_line.get(place.line, place.line)}
        numbered = [each for line in (None, *lines) for each in self._by_line.get(line, ())]
        numbered.sort(key=lambda each: each[0])
        return [(entry, selector) for _, entry in numbered for selector in self._of(entry, diagnostic, matches)]

    def _of(self, entry: Suppression, diagnostic: Diagnostic, matches: Matches) -> Iterator[str | None]:
        """Yield the selectors by which a suppression silences a diagnostic; none silences a report about itself."""
        about = (diagnostic.place.line, diagnostic.place.column)
        if diagnostic.code in ABOUT_SUPPRESSIONS and about == (entry.line, entry.column):
            return
        if entry.rules is None:
            yield None
        else:
            yield from (rule for rule in entry.rules if matches(rule, diagnostic))


def read_suppressions(text: str) -> Suppressions:
    """Find the suppressions in the comments of a source text; strings that look like one are none.

    Text that cannot be split into tokens to its end yields what was found before that.
    """
    if "devlint:" not in text and "noqa" not in text.lower():
        return Suppressions((), {})
    found: list[Suppression] = []
    last_line: dict[int, int] = {}
    start: int | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found.extend(_in_comment(token.string, token.start[0], token.start[1] + 1))
            elif token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
                if start is not None:
                    last_line.update(dict.fromkeys(range(start, token.start[0] + 1), token.start[0]))
                start = None
            elif start is None and token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                start = token.start[0]
    except (tokenize.TokenError, SyntaxError):
        pass
    return Suppressions(found, last_line)


def _in_comment(comment: str, line: int, column: int) -> list[Suppression]:
    found: list[Suppression] = []

    def add(match: re.Match[str], rules: tuple[str, ...] | None, *, whole_file: bool, noqa: bool) -> None:
        words = comment[match.end() :].partition("#")[0]
        reason = words.strip(" \t:;,-\N{EN DASH}\N{EM DASH}")
        end = column + len(comment[: match.end() + len(words)].rstrip())
        text = match[0].rstrip()
        found.append(Suppression(line, column + match.start(), text, rules, whole_file, reason, end, noqa))

    for match in islice(re.finditer(_DEVLINT, comment), MOST_IN_COMMENT):
        rules: tuple[str, ...] | None = None
        if match["rules"] is not None:
            if match["end"] is None:
                continue
            rules = tuple(match["rules"].replace(",", " ").split())
        add(match, rules, whole_file=match["kind"] == "ignore-file", noqa=False)
    for match in islice(re.finditer(_NOQA, comment, re.IGNORECASE), MOST_IN_COMMENT):
        if match["colon"] is None:
            add(match, None, whole_file=False, noqa=True)
        elif match["codes"] is not None:
            add(match, tuple(re.split(r"[\s,]+", match["codes"].upper())), whole_file=False, noqa=True)
    return found


def suppressing_comment(text: str, diagnostic: Diagnostic) -> tuple[int, int, str] | None:
    """Return line, column and text of what to insert so that a comment silences a diagnostic; columns from 1.

    It goes to the end of the statement, into the brackets of a comment that is there. None where a comment holds
    already, or where the text cannot be split into tokens so far.
    """
    first = diagnostic.place.line
    comment: tokenize.TokenInfo | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and token.start[0] >= first:
                comment = token
            if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER) and token.start[0] >= first:
                line = token.start[0]
                break
        else:
            return None
    except (tokenize.TokenError, SyntaxError):
        return None
    end = len(text.split("\n")[line - 1].rstrip()) + 1
    if comment is not None and comment.start[0] == line:
        match = re.search(_DEVLINT, comment.string)
        if match is not None and match["kind"] == "ignore":
            if match["end"] is None:
                return None
            between = ", " if match["rules"].strip() else ""
            return line, comment.start[1] + match.start("end") + 1, f"{between}{diagnostic.code}"
    return line, end, f"  # devlint: ignore[{diagnostic.code}]"
