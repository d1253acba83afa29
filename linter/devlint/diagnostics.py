"""What devlint reports: plain data that crosses every boundary between a rule and a reader."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import replace

from devlint.records import dataclass


class Severity(enum.Enum):
    """How bad a diagnostic is; both fail the run unless `--fail-on error`."""

    ERROR = "error"
    WARNING = "warning"


class Certainty(enum.Enum):
    """On which runs the promise of a diagnostic comes true.

    CERTAIN: on every path that reaches the line. ON_ACCELERATOR: as soon as the code runs on an accelerator,
    because one side follows an input, a module or a device variable; or as soon as a call takes the branch of the
    called function in which it happens. POSSIBLE: on some path only, or no call shows that an argument is on an
    accelerator.
    """

    CERTAIN = "certain"
    ON_ACCELERATOR = "on-accelerator"
    POSSIBLE = "possible"

    def is_at_least(self, other: Certainty) -> bool:
        """Whether it promises as much as another one; the members stand in this order."""
        order = [*Certainty]
        return order.index(self) <= order.index(other)


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A stretch of a file as people count: lines and columns start at 1, columns count code points.

    The end is exclusive. `file` is relative to the working directory, with `/`. In a report on a notebook, lines are
    those of the cell with that number; before, and in any other file, there is no cell.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None = None

    @property
    def source(self) -> str:
        """What the lines are counted in: the file, or `nb.ipynb:cell 3`."""
        return self.file if self.cell is None else f"{self.file}:cell {self.cell}"

    @property
    def start(self) -> tuple[int, int]:
        """The line and column that it begins at."""
        return (self.line, self.column)

    @property
    def end(self) -> tuple[int, int]:
        """The line and column behind it."""
        return (self.end_line, self.end_column)

    def holds(self, other: Place) -> bool:
        """Whether another stretch lies in this one; a stretch lies in itself."""
        return self.file == other.file and self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class Related:
    """One step of the story: a place and what happened there.

    Attributes:
        value: the name of the value whose story it is; empty if it belongs to no value or to several.
        again: it is no step, but another operation with the cause of the report.
    """

    place: Place
    message: str
    value: str = ""
    again: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    """A part of the reported stretch that the `full` format underlines, with a short text such as `cuda:0`."""

    place: Place
    text: str


class Safety(enum.Enum):
    """Whether a fix may be made unseen.

    SAFE: no run that works today works differently afterwards. UNSAFE: the author should look, because what the
    code does on some run may change.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """A stretch of a file and the text to put in its place; an empty stretch is an insertion.

    In `text`, `\\n` stands for the line end of the file.
    """

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change of the source that settles a diagnostic, in the file of the diagnostic.

    Attributes:
        safety: see `Safety`.
        message: the change, in the imperative.
        edits: in order, without overlap; never empty.
        subject: the changed thing, such as a variable of a function. Two fixes with one subject, unless it is empty,
            are not made at once, because one may make the other needless.
    """

    safety: Safety
    message: str
    edits: tuple[Edit, ...]
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """The move that is missing. It settles all diagnostics of a file with this cause.

    Attributes:
        value: a name for the value that has to move, different from the names of all others in the file.
        device: where it has to go; "" for a device that only the surroundings know, which may be any.
    """

    value: str
    device: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One reported item.

    Attributes:
        code: `DEV101`.
        rule: `mixed-device-operands`.
        severity: after configuration.
        certainty: see `Certainty`.
        message: one sentence without a full stop; names both devices where there are two.
        place: the stretch that is wrong.
        labels: the operands, to be underlined; may be empty.
        related: where each value got its device, in reading order.
        pytorch: the message that PyTorch raises, or None when it raises nothing.
        advice: the change to make, in the imperative, or None.
        fix: that change as edits, where it can be made without the author.
        calls: the calls that show it, if the function around it does not; of the first, `related` tells the way to it.
        cause: see `Cause`; None for one that no other diagnostic shares.
    """

    code: str
    rule: str
    severity: Severity
    certainty: Certainty
    message: str
    place: Place
    labels: tuple[Label, ...] = ()
    related: tuple[Related, ...] = ()
    pytorch: str | None = None
    advice: str | None = None
    fix: Fix | None = None
    calls: tuple[Place, ...] = ()
    cause: Cause | None = None

    @property
    def sort_key(self) -> tuple[str, int, Place, str, str]:
        """Orders diagnostics by file, cell, line, column, code."""
        return (self.place.file, self.place.cell or 0, self.place, self.code, self.message)

    def story(self) -> Iterator[Place]:
        """Yield the places that a report of it shows; the edits of its fix are not among them."""
        yield self.place
        yield from (label.place for label in self.labels)
        yield from (step.place for step in self.related)
        yield from self.calls[1:]

    def places(self) -> Iterator[Place]:
        """Yield every place that it names."""
        yield self.place
        for label in self.labels:
            yield label.place
        for step in self.related:
            yield step.place
        yield from self.calls
        for edit in () if self.fix is None else self.fix.edits:
            yield edit.place

    def with_places(self, change: Callable[[Place], Place]) -> Diagnostic:
        """Return the diagnostic with every place changed."""
        fix = self.fix
        if fix is not None:
            fix = replace(fix, edits=tuple(replace(edit, place=change(edit.place)) for edit in fix.edits))
        return replace(
            self,
            place=change(self.place),
            labels=tuple(replace(label, place=change(label.place)) for label in self.labels),
            related=tuple(replace(step, place=change(step.place)) for step in self.related),
            fix=fix,
            calls=tuple(map(change, self.calls)),
        )


class Silencer(enum.Enum):
    """What keeps a diagnostic from being reported: a comment in its file, or a baseline."""

    COMMENT = "comment"
    BASELINE = "baseline"


@dataclass(frozen=True, slots=True)
class Silenced:
    """A diagnostic that is not reported.

    Attributes:
        reason: why, in the words of the user; may be empty.
    """

    diagnostic: Diagnostic
    by: Silencer
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RuleText:
    """The documentation of a rule.

    Attributes:
        summary: one sentence.
        documentation: all of it, in Markdown.
        description: the first section of the documentation, on one line.
        opt_in: the rule is off by default.
        page: the address of its page; None without one.
    """

    code: str
    rule: str
    severity: Severity
    summary: str
    documentation: str
    description: str = ""
    opt_in: bool = False
    page: str | None = None
