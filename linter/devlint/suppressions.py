"""Comments that silence diagnostics: `# devlint: ignore[…]`, `# devlint: ignore-file[…]` and `# noqa`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from devlint.diagnostics import Diagnostic, Place

_DEVLINT = re.compile(r"#\s*devlint:\s*(?P<kind>ignore-file|ignore)(?![\w-])\s*(?:\[(?P<rules>[^\]]*)(?P<end>\])?)?")
_NOQA = re.compile(r"#\s*noqa(?![\w-])(?P<colon>\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*)?)?", re.I)

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
    """

    line: int
    column: int
    text: str
    rules: tuple[str, ...] | None
    whole_file: bool


class Suppressions:
    """The suppressions of one file, and where its statements end."""

    def __init__(self, found: Sequence[Suppression], last_line: dict[int, int]) -> None:
        self.found = tuple(found)
        self._last_line = last_line

    def apply(
        self, diagnostics: Sequence[Diagnostic], matches: Matches
    ) -> tuple[list[Diagnostic], frozenset[Suppression]]:
        """Return the diagnostics that stay, and the suppressions that silenced at least one.

        A diagnostic loses its fix if that would change a line on which it is silenced.
        """
        kept: list[Diagnostic] = []
        used: set[Suppression] = set()
        for diagnostic in diagnostics:
            silencing = [entry for entry in self.found if self._covers(entry, diagnostic, diagnostic.place, matches)]
            used.update(silencing)
            if not silencing:
                kept.append(self._without_forbidden_fix(diagnostic, matches))
        return kept, frozenset(used)

    def _without_forbidden_fix(self, diagnostic: Diagnostic, matches: Matches) -> Diagnostic:
        if diagnostic.fix is None:
            return diagnostic
        places = [edit.place for edit in diagnostic.fix.edits]
        forbidden = any(self._covers(entry, diagnostic, place, matches) for entry in self.found for place in places)
        return replace(diagnostic, fix=None) if forbidden else diagnostic

    def _covers(self, entry: Suppression, diagnostic: Diagnostic, place: Place, matches: Matches) -> bool:
        """Whether a comment silences a diagnostic where it stands, or would silence it at another place."""
        first = place.line
        lines = (first, place.end_line, self._last_line.get(first, first))
        if not entry.whole_file and entry.line not in lines:
            return False
        return entry.rules is None or any(matches(rule, diagnostic) for rule in entry.rules)


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
    for match in _DEVLINT.finditer(comment):
        rules: tuple[str, ...] | None = None
        if match["rules"] is not None:
            if match["end"] is None:
                continue
            rules = tuple(match["rules"].replace(",", " ").split())
        whole_file = match["kind"] == "ignore-file"
        found.append(Suppression(line, column + match.start(), match[0].rstrip(), rules, whole_file))
    for match in _NOQA.finditer(comment):
        if match["colon"] is None:
            found.append(Suppression(line, column + match.start(), match[0], None, False))
        elif match["codes"] is not None:
            codes = tuple(re.split(r"[\s,]+", match["codes"].upper()))
            found.append(Suppression(line, column + match.start(), match[0], codes, False))
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
        match = _DEVLINT.search(comment.string)
        if match is not None and match["kind"] == "ignore":
            if match["end"] is None:
                return None
            between = ", " if match["rules"].strip() else ""
            return line, comment.start[1] + match.start("end") + 1, f"{between}{diagnostic.code}"
    return line, end, f"  # devlint: ignore[{diagnostic.code}]"
