"""Access paths: the places of values among the names that a function can read, such as `x` or `batch['image'][0]`.

A path is a root and the steps that lead from there to the value. The root is a name of the surroundings (a parameter,
`self`, a class), or a `Fresh` result: something that the execution itself has made, and that no name of the
surroundings holds. A step reads an attribute, an item or each element, or calls a method:

    `batch['image'][0]`    root `batch`, steps `['image']`, `[0]`
    `self.fc.weight`       root `self`, steps `.fc`, `.weight`
    `rows[*]`              root `rows`, step `[*]`: any element
    `x.to()`               root `x`, step `.to()`: what the method returns
    `?load()@3:5.shape`    root: what the call `load()` in line 3, column 5 returns; step `.shape`

Two equal paths are one place. Paths are made from roots by their steps and never read from text.
"""

from __future__ import annotations

import enum
import re
from functools import lru_cache
from typing import NamedTuple, TypeAlias

UNNAMED = "value"
"""The text of a result for which the source text has no short one."""

_POSITION = re.compile(r"@[0-9:]+")
"""The position that tells names with one text apart, in comprehensions too: `x@12:5`."""


class Fresh(NamedTuple):
    """Something that an execution has made.

    Attributes:
        text: what people call it: `load()`.
        made: line and column of where it is made, then those of the calls that have led there; empty if not known.
    """

    text: str
    made: tuple[int, ...] = ()


class StepKind(str, enum.Enum):
    """What a step does; a text, since paths are hashed and compared very often."""

    ATTRIBUTE = "attribute"
    ITEM = "item"
    EACH = "each"
    CALL = "call"


class AccessStep(NamedTuple):
    """One step.

    Attributes:
        kind: attribute, item, each element or call.
        key: the name of an attribute, the key of an item, the name of a method that is called; None of each element,
            and of a call of the root itself.
        made: of a call, its line and column, if a caller has found it in the summary of a function.
    """

    kind: StepKind
    key: object = None
    made: tuple[int, ...] = ()

    @classmethod
    def attribute(cls, name: str) -> AccessStep:
        """Return the step to an attribute."""
        return cls(StepKind.ATTRIBUTE, name)

    @classmethod
    def item(cls, key: object) -> AccessStep:
        """Return the step to an item."""
        return cls(StepKind.ITEM, key)

    @property
    def is_element(self) -> bool:
        """Whether it leads to an element of a container or tensor."""
        return self.kind is StepKind.ITEM or self.kind is StepKind.EACH

    @property
    def is_member(self) -> bool:
        """Whether it reads an attribute or calls a method."""
        return self.kind is StepKind.ATTRIBUTE or (self.kind is StepKind.CALL and self.key is not None)

    @property
    def is_entry(self) -> bool:
        """Whether it leads to an element that has a name."""
        return self.kind is StepKind.ITEM and isinstance(self.key, str)

    def __str__(self) -> str:
        match self.kind:
            case StepKind.ATTRIBUTE:
                return f".{self.key}"
            case StepKind.ITEM:
                return f"[{self.key!r}]"
            case StepKind.EACH:
                return "[*]"
            case StepKind.CALL:
                return f"{'' if self.key is None else f'.{self.key}'}(){_at(self.made)}"


EACH = AccessStep(StepKind.EACH)
"""Each element of a container or tensor."""


Root: TypeAlias = str | Fresh
"""Where a path begins: at a name of the surroundings, or at a result. Where a device has no place, its words: `the
accelerator`."""


class AccessPath(NamedTuple):
    """A place; see the module's text.

    Attributes:
        root: where it begins.
        steps: what leads from there to the value.
    """

    root: Root
    steps: tuple[AccessStep, ...] = ()

    @classmethod
    def of_dotted(cls, name: str) -> AccessPath:
        """Return the place of a dotted name: `settings.device`."""
        root, *attributes = name.split(".")
        return cls(root, tuple(map(AccessStep.attribute, attributes)))

    # --- making others --------------------------------------------------------------------------------------

    def step(self, step: AccessStep) -> AccessPath:
        """Return the place one step further."""
        return AccessPath(self.root, (*self.steps, step))

    def attribute(self, name: str) -> AccessPath:
        """Return the place of an attribute."""
        return AccessPath(self.root, (*self.steps, AccessStep(StepKind.ATTRIBUTE, name)))

    def item(self, key: object) -> AccessPath:
        """Return the place of an item."""
        return AccessPath(self.root, (*self.steps, AccessStep(StepKind.ITEM, key)))

    def each(self) -> AccessPath:
        """Return the place of any element."""
        return AccessPath(self.root, (*self.steps, EACH))

    def call(self, method: str | None = None) -> AccessPath:
        """Return the place of the result of a method, or of a call of the value itself."""
        return AccessPath(self.root, (*self.steps, AccessStep(StepKind.CALL, method)))

    def rooted_at(self, other: AccessPath) -> AccessPath:
        """Return the place to which the same steps lead from another one: where a caller has it."""
        return AccessPath(other.root, other.steps + self.steps)

    def made_by_call(self, line: int, column: int) -> AccessPath:
        """Return the place of a result as a caller has it: each call makes another one."""
        if not isinstance(self.root, Fresh) or not self.root.made:
            return self
        return AccessPath(Fresh(self.root.text, (*self.root.made, line, column)), self.steps)

    def called_at(self, line: int, column: int) -> AccessPath:
        """Return the place of the result of a method, as a caller has it."""
        *before, last = self.steps
        return AccessPath(self.root, (*before, AccessStep(last.kind, last.key, (line, column))))

    # --- asking ---------------------------------------------------------------------------------------------

    @property
    def is_fresh(self) -> bool:
        """Whether the execution has made the value, or an object that holds it."""
        return type(self.root) is Fresh

    @property
    def root_name(self) -> str:
        """The name that the place begins with: `x` for `x['a'].device`; empty for a result and its parts."""
        return self.root if isinstance(self.root, str) else ""

    @property
    def name(self) -> str:
        """The name that the place is, if it is nothing but a name; else empty."""
        return "" if self.steps else self.root_name

    @property
    def base(self) -> AccessPath:
        """The place of the value that it begins with: `x` for `x['a'].device`."""
        return AccessPath(self.root)

    @property
    def parent(self) -> AccessPath:
        """The place one step before; a root is its own."""
        return AccessPath(self.root, self.steps[:-1])

    @property
    def whole(self) -> AccessPath:
        """The place before the first element, which is itself if it has none: `x.rows` for `x.rows[0].device`."""
        for position, step in enumerate(self.steps):
            if step.is_element:
                return AccessPath(self.root, self.steps[:position])
        return self

    @property
    def is_element(self) -> bool:
        """Whether it is an element of something."""
        return bool(self.steps) and self.steps[-1].is_element

    @property
    def is_of_element(self) -> bool:
        """Whether it is an element of the value of a name, or a part of one: `x[0].device`."""
        return not self.is_fresh and bool(self.steps) and self.steps[0].is_element

    @property
    def is_of_entry(self) -> bool:
        """Whether that element has a name: `batch['image'][0]`."""
        return not self.is_fresh and bool(self.steps) and self.steps[0].is_entry

    @property
    def is_nested_entry(self) -> bool:
        """Whether it is, or is a part of, an entry of an entry: `batch['meta']['center']`."""
        return self.is_of_entry and len(self.steps) > 1 and self.steps[1].is_entry

    @property
    def is_each(self) -> bool:
        """Whether it is any element of something."""
        return bool(self.steps) and self.steps[-1].kind is StepKind.EACH

    @property
    def is_returned(self) -> bool:
        """Whether it is the result of a method that no caller has found in a summary."""
        return bool(self.steps) and self.steps[-1].kind is StepKind.CALL and not self.steps[-1].made

    @property
    def is_made(self) -> bool:
        """Whether the execution, or a function that it has called, has made the value or an object that holds it."""
        return type(self.root) is Fresh or any(step.made for step in self.steps)

    @property
    def is_of_self(self) -> bool:
        """Whether it is an attribute of `self`, or a part of one."""
        return self.root == "self" and bool(self.steps) and self.steps[0].kind is StepKind.ATTRIBUTE

    @property
    def has_attribute(self) -> bool:
        """Whether one of its steps reads an attribute, or calls a method."""
        return any(step.is_member for step in self.steps)

    @property
    def passes_device(self) -> bool:
        """Whether one of its steps reads a device, or something with such a name: `x.device`, `x.device_ids`."""
        return any(step.is_member and str(step.key).startswith("device") for step in self.steps)

    def is_made_at(self, line: int, column: int) -> bool:
        """Whether it is a result, as a whole, that the execution has made there."""
        return isinstance(self.root, Fresh) and not self.steps and self.root.made == (line, column)

    def is_attribute(self, name: str) -> bool:
        """Whether it is the attribute of that name of something."""
        return bool(self.steps) and self.steps[-1].kind is StepKind.ATTRIBUTE and self.steps[-1].key == name

    def is_result_of(self, method: str) -> bool:
        """Whether it is what a method of that name returns."""
        return self.is_returned and self.steps[-1].key == method

    # --- as text --------------------------------------------------------------------------------------------

    @property
    def exact(self) -> str:
        """The text that no other place has: `?load()@3:5`."""
        return _exact(self.root) + "".join(map(str, self.steps))

    @property
    def last(self) -> str:
        """The last attribute with the elements that follow: `rows[0]` for `x.rows[0]`; what begins it, without one."""
        steps = ""
        for step in reversed(self.steps):
            steps = f"{step}{steps}"
            if step.is_member:
                return steps.removeprefix(".")
        return _exact(self.root).rpartition(".")[2] + steps

    @property
    def end(self) -> str:
        """The last step alone: `rows` for `x.rows`, `[0]` for `x.rows[0]`."""
        return str(self.steps[-1]) if self.is_element else self.last

    @property
    def source(self) -> str:
        """The source text that reads it; empty for a result, which no text reads again."""
        return "" if self.is_fresh else str(self)

    @property
    def behind_root(self) -> str:
        """The text of its steps: `['a'].device` for `x['a'].device`."""
        return "".join(map(str, self.steps))

    def __str__(self) -> str:
        """The place for people: `load()` for `?load()@3:5`."""
        text = self.root if isinstance(self.root, str) else self.root.text
        if self.steps:
            text += "".join(map(str, self.steps))
        return _POSITION.sub("", text) if "@" in text else text


SELF = AccessPath("self")
"""The object whose method is executed."""


@lru_cache(maxsize=10_000)
def named(name: str) -> AccessPath:
    """Return the place that is a name: the same object each time, as programs read names all the time."""
    return AccessPath(name)


def _exact(root: Root) -> str:
    return f"?{root.text}{_at(root.made)}" if isinstance(root, Fresh) else root


def _at(made: tuple[int, ...]) -> str:
    return f"@{':'.join(map(str, made))}" if made else ""
