"""Where a conflict is reported, and the change that settles it."""

from __future__ import annotations

from itertools import islice

import libcst as cst
from devlint.diagnostics import Edit, Fix, Place, Safety
from devlint.domain.device import Variable
from devlint.facts import Meeting
from devlint.records import dataclass
from devlint.syntax import Syntax

from devlint_rules.support.in_place_writes import is_written, stays_itself
from devlint_rules.support.moves.bindings import is_tested, keeps_its_value
from devlint_rules.support.moves.device_text import chosen_device, is_addressable
from devlint_rules.support.moves.module_device import device_of
from devlint_rules.support.scopes import Surroundings, names_in

_DISPLAYS = (cst.List, cst.Tuple, cst.Dict, cst.Set, cst.BaseComp)
"""What holds values and cannot be moved itself."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """The change that settles a diagnostic: in words, and as edits where it can be made without the author.

    Attributes:
        advice: the change, in the imperative.
        edits: the change itself, or nothing.
        safety: of the edits.
        subject: see `Fix`.
    """

    advice: str
    edits: tuple[Edit, ...] = ()
    safety: Safety = Safety.SAFE
    subject: str = ""

    @property
    def fix(self) -> Fix | None:
        """The edits as a fix, if there are any."""
        return Fix(self.safety, self.advice, tuple(sorted(self.edits)), self.subject) if self.edits else None


def both(one: Remedy, other: Remedy) -> Remedy:
    """Return the change that makes two changes at once; there are edits only if both have some."""
    if one.advice == other.advice:
        return one
    edits = tuple(dict.fromkeys((*one.edits, *other.edits))) if one.edits and other.edits else ()
    safety = Safety.UNSAFE if Safety.UNSAFE in (one.safety, other.safety) else Safety.SAFE
    return Remedy(f"{one.advice}; and {other.advice}", edits, safety, one.subject)


@dataclass(frozen=True, slots=True)
class Site:
    """Where a conflict is reported.

    Attributes:
        place: the operation.
        surroundings: the names of its file; code in advice names nothing that is unknown there.
        syntax: the nodes of its file.
    """

    place: Place
    surroundings: Surroundings
    syntax: Syntax

    @property
    def is_in_forward(self) -> bool:
        """Whether the operation stands in a method `forward`."""
        return any(one.name.value == "forward" for one in self.syntax.enclosing(self.place, cst.FunctionDef))

    def sees(self, side: Meeting) -> bool:
        """Whether the name of a value means that value at the operation too."""
        return self.place.holds(side.place) or self.surroundings.together(side.place, self.place)

    def node(self, side: Meeting) -> cst.BaseExpression | None:
        """The node of a value, if it stands in the operation."""
        return self.syntax.value_at(side.place) if self.place.holds(side.place) else None

    def calls(self, side: Meeting) -> bool:
        """Whether the operation is written as a call of that value."""
        call = self.syntax.at(self.place, cst.Call)
        return call is not None and self.syntax.place(call.func) == side.place

    def is_argument(self, side: Meeting) -> bool:
        """Whether a value is an argument of the call that the operation is, or a part of one."""
        call = self.syntax.at(self.place, cst.Call)
        return call is not None and any(self.syntax.place(given.value).holds(side.place) for given in call.args)

    def operand(self, side: Meeting) -> cst.BaseExpression | None:
        """The node of a value that another can take the place of, which changes nothing else.

        It is no target, no list or the like that only holds the value, and not the operation as a whole.
        """
        node = self.node(side)
        if node is None or self.syntax.is_target(node) or self.container(side) or side.place == self.place:
            return None
        is_named = not is_addressable(side.name) or self.syntax.code(node) == side.name
        return node if is_named else None

    def is_one_of_several(self, node: cst.BaseExpression) -> bool:
        """Whether a value is an element of a display with others that are no literals."""
        display = next(islice(self.syntax.parents(node), 1, None), None)
        if not isinstance(display, (cst.List, cst.Tuple, cst.Set)):
            return False
        others = [element.value for element in display.elements if element.value is not node]
        return any(not isinstance(other, (cst.BaseNumber, cst.SimpleString)) for other in others)

    def container(self, side: Meeting) -> cst.BaseExpression | None:
        """The list or the like, which cannot be moved itself, that a value is or the file stores under its name."""
        node = self.node(side)
        values = [] if node is None else [node]
        if isinstance(node, cst.Name):
            values += [store.value for store in self.syntax.stores(node.value)]
        return next((value for value in values if isinstance(value, _DISPLAYS)), None)

    def writes(self, side: Meeting) -> bool:
        """Whether the operation writes to a value: no copy may stand in its place."""
        return is_written(side.place, self.place, self.syntax)

    def rebinds(self, name: str, at: Place | None = None) -> bool:
        """Whether the name may be given a copy of its value before the operation, or in the scope of another place."""
        place = at or self.place
        return self.surroundings.binds(name, place) and not stays_itself(name, place, self.syntax, self.surroundings)

    def safety_of_rebinding(self, name: str, at: Place | None = None) -> Safety:
        """Safe where the name alone stands for its value: another one would keep the value that did not move."""
        return Safety.SAFE if self.surroundings.is_alone(name, at or self.place) else Safety.UNSAFE

    def means_the_same(self, text: str, at: Place) -> bool:
        """Whether source text for a device at the operation can be read at an earlier place, and is that device."""
        return self.surroundings.knows(text, at) and all(
            keeps_its_value(name, at, self.place, self.syntax, self.surroundings)
            and not is_tested(name, at, self.place, self.syntax, self.surroundings)
            for name in names_in(text)
        )

    def device(self, side: Meeting, at: Place | None = None) -> str | None:
        """Source text for the device that the program has put a value on; None where nothing known at `at` is it."""
        return chosen_device(side, at or self.place, self.syntax, self.surroundings)

    def device_of(self, text: str, side: Meeting, at: Place | None = None) -> str | None:
        """Source text for the device that a value has from a name or attribute; None where that may have none."""
        return device_of(text, side, at or self.place, self.syntax, self.surroundings)

    def followed(self, side: Meeting, at: Place | None = None) -> str | None:
        """Source text for the device of the argument that a value follows: `x.device` of `rows[i]` from `x`."""
        device = side.device
        if not isinstance(device, Variable) or not is_addressable(device.place.source):
            return None
        text = device.place.source
        return text if device.names_device else self.device_of(text, side, at)

    def subject(self, name: str) -> str:
        """What a fix changes that changes `name`."""
        return self.surroundings.qualified(name, self.place)
