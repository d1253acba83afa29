"""`explain`: what a device error of PyTorch means in terms of the user's program, at any time, without a guard.

Everything is read from the exception's traceback. PyTorch's error keeps its class and its text; `annotate` adds a note.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from torch import nn

from devlint_guard.advise.candidates import with_way
from devlint_guard.explain.messages import read
from devlint_guard.explain.operands import Scene
from devlint_guard.finding import Finding, Operand, Role
from devlint_guard.findings.parallel import traced
from devlint_guard.findings.troubles import WRITERS
from devlint_guard.program import naming
from devlint_guard.program.frames import Carried, whole_path
from devlint_guard.program.undisturbed import FAILED, protected, warn
from devlint_guard.record import installed
from devlint_guard.report.ranks import ranks
from devlint_guard.report.text import render

Roots = Mapping[str, nn.Module] | Iterable[nn.Module]
"""Modules that paths start from, by the name to print; without names, each has that of the user's variable."""

_MARKS: Final = ("devlint: DEV", "devlint[rank", FAILED)
"""How the first line of a note begins."""


def explain(error: BaseException, roots: Roots = ()) -> Finding | None:
    """What a device error means; None for any other error, and after a warning where the explanation fails.

    From the first call on, the process records where tensors come from, so that later explanations tell the cause.

    Args:
        error: an exception that was raised; if it stands for another one, its cause is looked at too.
        roots: modules to name paths from; those on the stack and in the user's variables are found anyway.
    """
    installed.keep_on()
    return protected(lambda: _finding(error, roots), warn)


def annotate(
    error: BaseException,
    roots: Roots = (),
    improve: Callable[[Finding], Finding] = lambda finding: finding,
) -> Finding | None:
    """Adds the explanation of a device error to it as a note, once; leaves any other error alone.

    Returns the explanation that it has added. If the explanation fails, the note is one line that says so, and the
    error comes through as it is. On CPython 3.10, which has no notes, the text is appended to the message.

    Args:
        error, roots: as for `explain`.
        improve: returns what a guard makes of a finding, which may know more.
    """

    def add() -> Finding | None:
        texts = [*getattr(error, "__notes__", ()), *(one for one in error.args[:1] if isinstance(one, str))]
        if any(line.startswith(_MARKS) for text in texts for line in text.splitlines()):
            return None
        finding = _finding(error, roots)
        if finding is not None:
            finding = improve(finding)
            _add_note(error, render(finding))
        return finding

    return protected(add, functools.partial(_add_note, error))


def forget_note(error: BaseException) -> None:
    """Takes the explanation of an error off, so that it can be annotated anew."""
    notes = getattr(error, "__notes__", None)
    if isinstance(notes, list):
        error.__notes__ = [one for one in notes if not str(one).startswith(_MARKS[:2])]


def explained_before(error: BaseException, roots: Roots = ()) -> Finding | None:
    """The explanation of an error that has its note already; None where there is none, or where it fails again."""
    return protected(lambda: _finding(error, roots), len)


def _finding(error: BaseException, roots: Roots) -> Finding | None:
    chain = _with_causes(error)
    for index, one in enumerate(chain):
        message = read(one)
        if message is not None:
            named = roots if isinstance(roots, Mapping) else naming.by_class(roots)
            scene = Scene.of(whole_path(chain[index:]), named, str(one))
            if found := traced(scene, message):
                return _placed(found, replace(scene, carried=None), one)
            return _placed(with_way(scene, WRITERS[message.trouble](scene, message)), scene, one)
    return None


def _with_causes(error: BaseException) -> list[BaseException]:
    """An error and those that it stands for, the innermost first."""
    chain: list[BaseException] = []
    known: BaseException | None = error
    while known is not None and not any(known is one for one in chain):
        chain.append(known)
        known = known.__cause__ or (None if known.__suppress_context__ else known.__context__)
    return chain[::-1]


def _placed(finding: Finding, scene: Scene, error: BaseException) -> Finding:
    finding = scene.placed(finding)
    if scene.carried is not None:
        finding = replace(finding, place=scene.carried.place, operands=_of_carried(finding.operands, scene.carried))
    return replace(finding, pytorch=next(iter(str(error).splitlines()), ""), ranks=ranks())


def _of_carried(operands: Sequence[Operand], carried: Carried) -> tuple[Operand, ...]:
    """The values that the frames of this process know, and the expression that failed elsewhere."""
    if not carried.text or any(one.place and one.place.line == carried.place.line for one in operands):
        return tuple(operands)
    return (*operands, Operand(carried.text, Role.TEMPORARY, "", place=carried.place))


def _add_note(error: BaseException, text: str) -> None:
    add_note = getattr(error, "add_note", None)
    if add_note is not None:
        if text not in getattr(error, "__notes__", ()):  # two guards may fail alike
            add_note(text)
    elif error.args and isinstance(error.args[0], str) and text not in error.args[0]:
        error.args = (f"{error.args[0]}\n{text}", *error.args[1:])
