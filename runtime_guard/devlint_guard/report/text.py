"""Findings as text, for a terminal, a note of an exception, a log: a note fits a screen of 80 columns."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from devlint_guard.finding import Finding, Operand, Place, Role, Step, ranks_named
from devlint_guard.program.frames import source_line
from devlint_guard.program.quoting import printable

_BOLD, _RED, _GREEN, _BLUE, _RESET = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[34m", "\x1b[0m"

_WIDTH = 80

_LABEL = 9
"""The width of `cause`, `value`, `path`, `help`, `tried` and `silence`."""


def render_all(findings: Iterable[Finding], colour: bool = False) -> str:
    """Several findings, an empty line between two."""
    return "\n\n".join(render(finding, colour) for finding in findings)


def render(finding: Finding, colour: bool = False) -> str:
    """One finding in a screen of 80 columns: the culprit, its line, where that came from, one change.

    Lines of source that are longer show the part with the marks. Lines of the change are whole. Colours are escape
    sequences for a terminal.
    """
    lines = list(_headline(finding))
    if finding.place is not None:
        lines += ["", *_excerpt(finding, finding.place)]
    details = list(_details(finding))
    if details:
        lines.append("")
    for label, text in details:
        first, *rest = _wrapped(text, _WIDTH - _LABEL - 3)
        lines.append(f"  {label.ljust(_LABEL)} {first}".rstrip())
        lines += [f"{' ' * (_LABEL + 3)}{one}" for one in rest]
        if label == "help":
            lines += _diff(finding)
    text = "\n".join(map(printable, lines))
    return coloured(text) if colour else text


def coloured(text: str) -> str:
    """What `render` has written, also as a part of a longer text, with escape sequences for a terminal.

    The note of an error is plain text, since a program may print it anywhere; it is coloured where it is shown.
    """
    lines, is_inside, has_marks = [], False, False
    for line in text.split("\n"):
        if _HEAD.match(line):
            is_inside, has_marks = True, False
        matches = ((shape.match(line), colours) for shape, colours in _SHAPES if is_inside)
        match, colours = next((one for one in matches if one[0] is not None), (None, ()))
        if match is None:
            lines.append(line)
            continue
        if match.re is _MARKS:
            colours = (_BLUE, _BLUE if has_marks else _RED)
            has_marks = True
        at, painted = 0, ""
        for number, colour in enumerate(colours, 1):
            painted += f"{line[at : match.start(number)]}{colour}{match[number]}{_RESET}"
            at = match.end(number)
        lines.append(painted + line[at:])
    return "\n".join(lines)


_HEAD = re.compile(r"(devlint(?:\[[^\]]*\])?: DEV\d+)( .*)")
_MARKS = re.compile(r"  ( +\|)\s+(\^+)")
_SHAPES: Sequence[tuple[re.Pattern[str], Sequence[str]]] = (
    (_HEAD, (_BOLD + _RED, _BOLD)),
    (_MARKS, ()),
    (re.compile(r"\s+(-->) "), (_BLUE,)),
    (re.compile(r"  ( *\d* \|)"), (_BLUE,)),
    (re.compile(r"  (\.{3,})$"), (_BLUE,)),
    (re.compile(r"  (cause|value|path|help|or|tried|silence) "), (_BLUE,)),
    (re.compile(r" {12}(- .*)"), (_RED,)),
    (re.compile(r" {12}(\+ .*)"), (_GREEN,)),
)
"""The lines of a note that have colours, and the colour of each group."""


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours; `NO_COLOR` and `FORCE_COLOR` decide before that."""
    if os.environ.get("NO_COLOR") or os.environ.get("FORCE_COLOR"):
        return not os.environ.get("NO_COLOR")
    try:
        return os.environ.get("TERM") != "dumb" and stream.isatty()
    except (AttributeError, ValueError):  # closed, or put in the place of a stream
        return False


def _wrapped(text: str, width: int) -> list[str]:
    """Text in lines; what stands in backquotes is not broken.

    No line but the first begins with `::` or `##`, which the runner of GitHub Actions takes for a command.
    """
    lines: list[str] = [""]
    for word in re.findall(r"[^\s`]*`[^`]*`\S*|\S+", text):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width and not word.startswith(("::", "##")):
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".lstrip()
    return lines


def _headline(finding: Finding) -> Iterator[str]:
    rank = f"[{ranks_named(finding.ranks)}]" if finding.ranks else ""
    mark = f"devlint{rank}: {finding.code}"
    often = f" ({finding.count} times)" if finding.count > 1 else ""
    maybe = " (suspect)" if finding.suspect else ""
    head, message = f"{finding.name}{maybe}:", f"{finding.message}{often}"
    whole = f"{mark} {head} {message}"
    # A note that other notes come before is found by its first line.
    if len(whole) <= _WIDTH or message.startswith(("::", "##")):
        yield whole
    else:
        yield f"{mark} {head}"
        yield from (f"  {line}" for line in _wrapped(printable(message), _WIDTH - 2))


def _diff(finding: Finding) -> Iterator[str]:
    """The change of the user's line, without its indentation, which the line after keeps."""
    margin = " " * (_LABEL + 3)
    for change in finding.changes:
        place = finding.place
        if place is None or (change.place.file, change.place.line) != (place.file, place.line):
            yield f"{margin}--> {printable(f'{change.place.file}:{change.place.line}')}"
        yield from (f"{margin}{sign or ' '} {line}" for sign, line in change.lines())


# --- the source ---------------------------------------------------------------------------------------------


def _excerpt(finding: Finding, place: Place) -> Iterator[str]:
    """The user's lines with a mark under each operand."""
    here = [operand for operand in finding.operands if _within(operand.place, place)]
    shown = _lines_to_show(finding, place)
    width = max(len(str(line)) for line in [*shown, place.line])
    yield f"  --> {_where(place)}"
    before = None
    for line in shown:
        text = source_line(place.file, line)
        if before is not None and line > before + 1 and line - before > _GAP:
            yield "  " + "." * width
        marked = [one for one in here if one.place and one.place.line == line]
        text, shift = _window(text, marked, _WIDTH - width - 5)
        yield f"  {str(line).rjust(width)} | {text}".rstrip()
        yield from _marks(text, marked, width, shift)
        before = line


_GAP = 3
"""Lines further apart than this are told apart by dots."""


def _lines_to_show(finding: Finding, place: Place) -> list[int]:
    """The line of the place and those of its operands; before them where the blamed one got its value."""
    operands = [one.place for one in finding.operands if one.place and _within(one.place, place)]
    steps = [step.place for operand in finding.operands for step in operand.history if step.place]
    steps = [one for one in steps if (one.file, one.function) == (place.file, place.function)]
    lines = {one.line for one in (place, *operands, *steps)}
    return sorted(line for line in lines if source_line(place.file, line))


def _within(inner: Place | None, outer: Place) -> bool:
    if inner is None or inner.file != outer.file or not inner.column:
        return False
    return outer.line <= inner.line <= max(outer.end_line, outer.line)


def _window(text: str, operands: Sequence[Operand], room: int) -> tuple[str, int]:
    """The part of a long line that shows the marks, and how many columns it is shifted to the left."""
    if len(text) <= room or not operands or "\t" in text:
        return text if len(text) <= room or operands else f"{text[: room - 1]}…", 0
    ordered = sorted(operands, key=lambda one: not one.blamed)
    places = [one.place for one in ordered if one.place is not None]
    start, end = min(one.column for one in places) - 1, max(_end(one, text) for one in places)
    if end - start > room - 2:  # not all of them at once
        start, end = places[0].column - 1, min(_end(places[0], text), places[0].column - 1 + room - 2)
    shift = max(0, end - room + 1)
    shown = text[shift : shift + room]
    shown = f"…{shown[1:]}" if shift else shown
    return (f"{shown[:-1]}…" if shift + room < len(text) else shown), shift


def _end(place: Place, text: str) -> int:
    return place.end_column - 1 if place.end_line == place.line else len(text)


def _marks(text: str, operands: list[Operand], width: int, shift: int) -> Iterator[str]:
    """A line of carets for each operand, the culprit first."""
    for operand in sorted(operands, key=lambda one: (not one.blamed, one.place.column if one.place else 0)):
        place = operand.place
        assert place is not None
        start = place.column - 1 - shift
        if start < 0 or start >= len(text):
            continue
        end = min(_end(place, text) - shift if place.end_line == place.line else len(text), len(text))
        # A tab before the operand stays one, so that the mark is below it whatever a tab is.
        before = "".join("\t" if character == "\t" else " " for character in text[:start])
        carets = "^" * max(end - start, 1)
        note = " on ".join(part for part in (operand.detail, operand.device) if part)
        gutter = f"  {' ' * width} | "
        if width + 6 + end + len(note) <= _WIDTH:
            yield f"{gutter}{before}{carets} {note}".rstrip()
        else:
            yield f"{gutter}{before}{carets}"
            room = max(_WIDTH - width - 5 - len(note), 0)
            yield f"{gutter}{' ' * min(start, room)}{note}".rstrip()


# --- what else there is to say ------------------------------------------------------------------------------


def _details(finding: Finding) -> Iterator[tuple[str, str]]:
    for operand in finding.operands:
        for index, step in enumerate(_told(finding, operand.history) if operand.blamed else ()):
            label = "" if index else "cause"
            if isinstance(step, int):
                yield label, f"… {step} more {'step' if step == 1 else 'steps'} …"
            else:
                where = "" if step.place is None else f" ({_where(step.place)})"
                yield label, f"{_quoted(operand)} {step.message}{where}"
    for operand in finding.operands:
        if not _within(operand.place, finding.place) if finding.place else True:
            yield "value", f"{_quoted(operand)} ({_what(operand)}) is on {operand.device}"
        elif operand.qualified not in ("", operand.name, finding.module):
            yield "value", f"{_quoted(operand)} is the {operand.role.value} {operand.qualified}"
    if finding.module:
        step_number = "" if finding.step is None else f", step {finding.step}"
        yield "path", f"{finding.module} ({finding.module_class}){step_number}"
    for index, text in enumerate(finding.help):
        yield "or" if index else "help", text
    if finding.tried:
        yield "tried", finding.tried
    yield "silence", f'with allow("{finding.code}", reason="…"):'


def _told(finding: Finding, history: Sequence[Step]) -> Iterator[Step | int]:
    """The steps to show, and in the place of others how many there are.

    They are those at both ends and on the lines to change, since the value was made at one end, is used at the other,
    and has to be looked at where it is moved.
    """
    changed = {(one.place.file, one.place.line) for one in finding.changes}
    others = [step.place is None or (step.place.file, step.place.line) not in changed for step in history]
    last = len(history) - 1
    to_end = {number: min(number, last - number) for number in range(len(history))}
    first = sorted(to_end, key=lambda number: (others[number], to_end[number]))[:_MOST_STEPS]
    shown = {*first, *(number for number in to_end if {number - 1, number + 1} <= set(first))}  # a count is no shorter
    for is_shown, group in itertools.groupby(to_end, shown.__contains__):
        numbers = list(group)
        yield from (history[number] for number in numbers) if is_shown else (len(numbers),)


_MOST_STEPS = 4
"""A note tells so many steps of a cause; the report has all."""


def _where(place: Place) -> str:
    """`train.py:17 in Classifier.forward`; of an unknown function, without the second half."""
    return f"{place.file}:{place.line}{f' in {place.function}' if place.function else ''}"


def _quoted(operand: Operand) -> str:
    return f"`{operand.name}`" if operand.name else "a value"


def _what(operand: Operand) -> str:
    is_told = operand.qualified in operand.name or operand.role is Role.OPTIMIZER_STATE
    return ", ".join(filter(None, (operand.role.value, "" if is_told else operand.qualified, operand.detail)))
