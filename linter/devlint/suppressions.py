"""Comments that silence diagnostics: `# devlint: ignore[…]`, `# devlint: ignore-file[…]`, `# noqa`, `# ruff: noqa`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from devlint.diagnostics import Diagnostic, Place, Silenced, Silencer
from devlint.records import dataclass

UNUSED = "DEV902"

ABOUT_SUPPRESSIONS = (UNUSED, "DEV904")
"""The codes of diagnostics about suppressions."""

_ADDRESSED = r"#\s*devlint:[^#]*"
"""A comment that speaks to devlint, up to the next comment behind it."""

_RULES = r"\[(?P<rules>[\s,]*[^\[\]\s,][^\[\]]*)(?P<end>\])"
_DEVLINT = rf"#\s*devlint:\s*(?P<kind>ignore-file|ignore)(?![\w-])\s*(?:{_RULES})?"

_NO_REASON = r"\s*\[|\W*(?:(?i:DEV[0-9])|(?:[A-Z]{2,}[0-9]{3}|[a-z]+(?:-[a-z0-9]+)+)(?![\w-]))"
"""The beginning of words that name rules outside of brackets: a code or a word with hyphens is no reason."""

_CODE = r"[A-Z]+[0-9][A-Z0-9]*"
_CODES = rf"(?P<colon>\s*:\s*(?P<codes>{_CODE}(?:[\s,]+{_CODE})*)?)?"
_NOQA = rf"#\s*noqa(?![\w-]){_CODES}"
_FILE_NOQA = rf"#\s*(?:ruff|flake8)\s*[:=]\s*noqa(?![\w-]){_CODES}"

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
        rules: the silenced rules; None means every rule.
        whole_file: it holds for the file, not for its line.
        reason: the words after it.
        end: the column behind these words.
        noqa: it is a `# noqa`, which speaks to other tools as well.
        understood: whether the comment has the form of a suppression. If not, it silences nothing.
    """

    line: int
    column: int
    text: str
    rules: tuple[str, ...] | None
    whole_file: bool
    reason: str = ""
    end: int = 0
    noqa: bool = False
    understood: bool = True


_Covering: TypeAlias = tuple[Suppression, str | None]
"""A suppression, and which of its selectors covers a rule; None where it has none."""

_Selecting: TypeAlias = tuple[int, Suppression, str | None]
"""The same, with the number of the suppression in the file."""

Used: TypeAlias = frozenset[_Covering]
"""The suppressions that silenced something, each with the selector that did."""


class Suppressions:
    """The suppressions of one file, and where its statements end."""

    def __init__(self, found: Sequence[Suppression], last_line: dict[int, int]) -> None:
        self.found = tuple(found)
        self._last_line = last_line
        self._by_line: dict[int | None, list[tuple[int, Suppression]]] = {}
        for number, entry in enumerate(found):
            self._by_line.setdefault(None if entry.whole_file else entry.line, []).append((number, entry))
        self._in_file: dict[tuple[Matches, str, str], list[_Selecting]] = {}

    def apply(
        self, diagnostics: Sequence[Diagnostic], matches: Matches
    ) -> tuple[list[Diagnostic], list[Silenced], Used]:
        """Return the diagnostics that stay, those that do not, and what silenced them.

        A diagnostic is silenced on the lines where its place begins and ends, on the lines of its labels, and where
        its statement ends. It loses its fix if that would change a line on which it is silenced, or on which another
        diagnostic is, or a line with a comment for devlint.
        """
        kept: list[Diagnostic] = []
        silenced: list[Silenced] = []
        used: set[_Covering] = set()
        for diagnostic in diagnostics:
            labelled = [label.place for label in diagnostic.labels if label.place.file == diagnostic.place.file]
            silencing = self._covering(diagnostic, (diagnostic.place, *labelled), matches)
            edits = () if diagnostic.fix is None else diagnostic.fix.edits
            forbidding = [pair for edit in edits for pair in self._covering(diagnostic, (edit.place,), matches)]
            used.update(silencing, forbidding)
            if silencing:
                silenced.append(Silenced(diagnostic, Silencer.COMMENT, silencing[0][0].reason))
            else:
                kept.append(replace(diagnostic, fix=None) if forbidding else diagnostic)
        locked = {line for one in silenced for line in _lines(one.diagnostic.place)}
        commented = {one.line for one in self.found if not (one.whole_file or (one.noqa and one.rules is not None))}
        kept = [_without_fix_of(locked if one.code in ABOUT_SUPPRESSIONS else locked | commented, one) for one in kept]
        return kept, silenced, frozenset(used)

    def _covering(self, diagnostic: Diagnostic, places: Iterable[Place], matches: Matches) -> list[_Covering]:
        """Return by what a diagnostic is silenced at its places, or would be silenced at other places.

        No suppression silences a report about itself.
        """
        lines = {
            line
            for place in places
            for line in (place.line, place.end_line, self._last_line.get(place.line, place.line))
        }
        found = [each for line in lines for each in self._selecting(line, diagnostic, matches)]
        found += self._selecting_in_file(diagnostic, matches)
        found.sort(key=lambda each: each[0])
        own = (diagnostic.place.line, diagnostic.place.column) if diagnostic.code in ABOUT_SUPPRESSIONS else None
        return [(entry, selector) for _, entry, selector in found if (entry.line, entry.column) != own]

    def _selecting_in_file(self, diagnostic: Diagnostic, matches: Matches) -> list[_Selecting]:
        """Return what silences the rule of a diagnostic in the whole file.

        It is the same for all reports of a rule: a file may hold as many reports as suppressions.
        """
        key = matches, diagnostic.code, diagnostic.rule
        if key not in self._in_file:
            self._in_file[key] = self._selecting(None, diagnostic, matches)
        return self._in_file[key]

    def _selecting(self, line: int | None, diagnostic: Diagnostic, matches: Matches) -> list[_Selecting]:
        """Return the suppressions of a line, or for None of the file, with each selector that covers a rule."""
        return [
            (number, entry, selector)
            for number, entry in self._by_line.get(line, ())
            for selector in ((None,) if entry.rules is None else entry.rules)
            if selector is None or matches(selector, diagnostic)
        ]


def _lines(place: Place) -> range:
    return range(place.line, place.end_line + 1)


def _without_fix_of(lines: Collection[int], diagnostic: Diagnostic) -> Diagnostic:
    """Return a diagnostic; without its fix if that would change some lines."""
    edits = () if diagnostic.fix is None else diagnostic.fix.edits
    changed = any(line in lines for edit in edits for line in _lines(edit.place))
    return replace(diagnostic, fix=None) if changed else diagnostic


def read_suppressions(text: str) -> Suppressions:
    """Find the suppressions in the comments of a source text; strings that look like one are none.

    A text that cannot be split into tokens to its end yields the suppressions before that point.
    """
    lowered = text.lower()
    if "devlint:" not in lowered and "noqa" not in lowered:
        return Suppressions((), {})
    found: list[Suppression] = []
    last_line: dict[int, int] = {}
    start: int | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                alone = not token.line[:column].strip()
                found.extend(_in_comment(token.string, line, column + 1, alone=alone))
            elif token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
                if start is not None:
                    last_line.update(dict.fromkeys(range(start, token.start[0] + 1), token.start[0]))
                start = None
            elif start is None and token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                start = token.start[0]
    except (tokenize.TokenError, SyntaxError):
        pass
    return Suppressions(found, last_line)


def _in_comment(comment: str, line: int, column: int, *, alone: bool) -> Iterator[Suppression]:
    """Yield the suppressions in one comment.

    Args:
        comment: its text, from the `#` on.
        line, column: where it starts, from 1.
        alone: no code stands before it on its line.
    """

    def made(match: re.Match[str], rules: tuple[str, ...] | None, *, whole_file: bool, noqa: bool) -> Suppression:
        words = comment[match.end() :].partition("#")[0]
        reason = words.strip(" \t:;,-\N{EN DASH}\N{EM DASH}")
        end = column + len(comment[: match.end() + len(words)].rstrip())
        text = match[0].rstrip()
        return Suppression(line, column + match.start(), text, rules, whole_file, reason, end, noqa)

    for addressed in islice(re.finditer(_ADDRESSED, comment, re.IGNORECASE), MOST_IN_COMMENT):
        match = re.compile(_DEVLINT).match(comment, addressed.start(), addressed.end())
        if match is None or (match["end"] is None and re.match(_NO_REASON, comment[match.end() : addressed.end()])):
            text = addressed[0].rstrip()
            start = column + addressed.start()
            yield Suppression(line, start, text, (), whole_file=False, end=start + len(text), understood=False)
            continue
        rules = None if match["end"] is None else tuple(match["rules"].replace(",", " ").split())
        yield made(match, rules, whole_file=match["kind"] == "ignore-file", noqa=False)
    for form, whole_file in ((_NOQA, False), (_FILE_NOQA, True)):
        if whole_file and not alone:
            continue
        for match in islice(re.finditer(form, comment, re.IGNORECASE), MOST_IN_COMMENT):
            if match["colon"] is None:
                yield made(match, None, whole_file=whole_file, noqa=True)
            elif match["codes"] is not None:
                codes = tuple(re.split(r"[\s,]+", match["codes"].upper()))
                yield made(match, codes, whole_file=whole_file, noqa=True)


@dataclass(frozen=True, slots=True, order=True)
class Insertion:
    """The place for a suppression of one statement; line and column start at 1.

    Attributes:
        in_brackets: the statement has a suppression, and the place is inside of its brackets.
    """

    line: int
    column: int
    in_brackets: bool

    def text(self, codes: Sequence[str], reason: str = "") -> str:
        """Return the text to insert; a suppression that is there keeps its own reason."""
        listed = ", ".join(codes)
        return f", {listed}" if self.in_brackets else f"  # devlint: ignore[{listed}] {reason}".rstrip()


def insertion_for(text: str, diagnostic: Diagnostic) -> Insertion | None:
    """Return the place for a comment that silences a diagnostic.

    The comment goes to the end of the statement, or into the brackets of a comment that is there. None if a comment
    without brackets is there, or if the text cannot be split into tokens so far.
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
            return Insertion(line, comment.start[1] + match.start("end") + 1, in_brackets=True)
    return Insertion(line, end, in_brackets=False)
