"""Random programs in the language of real ones: calls with `*` and `**`, closures, objects, early returns, exceptions.

The forms are texts with holes, as in `tests.differential.forms`. A program need not run; it must have a meaning that is
the same for a summary and for an execution in place.
"""

from __future__ import annotations

import re
from random import Random
from typing import Final, cast, get_args

from tests.differential.definitions import GUARDS, generate
from tests.differential.expressions import expression, filled
from tests.differential.program import HEADER, Statement
from tests.differential.scope import DEVICES, Kind, Scope
from tests.differential.statements import statements

EXPRESSIONS: Final = {
    "test": """
        {flag}
        not {flag}
        {count} > 1
        {flag} and {count} == 2
        {flag} or {matrix}.is_cuda
        {matrix}.is_cuda
        {matrix}.device.type == 'cpu'
        {matrix}.device == {device}
        isinstance({matrix}, torch.Tensor)
        {matrix}.dim() == 2
        {vector}.sum() > 0
        {matrices}
        len({matrices}) > 1
        'a' in {named}
        {named}.get('c') is None
        {box}.inner is None
        {box}.inner is not None and {box}.inner.held.is_cuda
        hasattr({box}, 'held')
        isinstance({box}, Base)
        torch.cuda.is_available()
        len(sys.argv) > 3
    """,
    "flag": """
        True
        False
        bool({count})
    """,
    "depth": """
        0
        1
        2
    """,
    "count": """
        1
        2
        {count} - 1
        len({matrices})
        {matrix}.size(0)
    """,
    "box": """
        Box({matrix})
        Box({matrix}, {device})
        Box(held={matrix}, inner=Box({matrix}))
        Base({matrix})
        Box.make({matrix}, *{pair})
        {box}.place({device})
        {box}.inner
    """,
    "matrix": """
        {box}.held
        {box}.held
        {box}.moved
        {box}.inner.held
        {box}.run({matrix})
        {box}.total()
        {box}[0]
        {box}({matrix})
        Box.mixed({matrix}, {vector})
        getattr({box}, 'held', {matrix})
        ({matrix} if {test} else {matrix})
        ({matrix} if {test} else {matrix})
        (lambda y, z={vector}: y * z)({matrix})
        sum([each.held for each in ({box}, {box})])
        torch.stack([each for each in {matrices} if {test}]).sum(0)
        {matrices}[{count}]
        {named}.pop('a', {matrix})
        next(iter({matrices}))
        {call}
        {call}
        {call}
        {call}
    """,
}  # fmt: skip
"""Expressions by kind; the kinds of the differential tests have more of them."""

STATEMENTS: Final = """
if {test}:
    {block}
elif {test}:
    {block}
else:
    {block}

if {test}:
    {=matrix} = {matrix}
else:
    {=matrix} = {matrix}

if {test}:
    {=matrix} = {matrix}.to({device})

if {test}:
    {leave}

for {new matrix} in {matrices}:
    {block}
    if {test}:
        break
    {block}
else:
    {block}

for {new matrix} in {box}:
    if {test}:
        continue
    {block}

for {new vector} in {matrix}:
    {leave}

for step in range({count}):
    {=matrix} = {matrix}

while {test}:
    {=matrix} = {matrix}
    if {test}:
        break

try:
    {block}
    {leave}
except ValueError:
    {block}
else:
    {block}
finally:
    {block}

try:
    {=matrix} = {matrix}
except RuntimeError:
    {=matrix} = {matrix}

with {box} as {new matrix}:
    {block}

with torch.device({device}):
    {leave}

def {new inner}(y, z={matrix}, *more):
    {block}
    return y + {matrix}

def {new inner}(y):
    nonlocal_matrix = {matrix}
    return y * {box}.held

if ({new matrix} := {matrix}).is_cuda:
    {block}

{new matrix}, *{new matrices} = {matrices}

{new matrices} = [y * {vector} for y in {matrices} if {test}]

{new named} = {{key: y.to({device}) for key, y in {named}.items()}}

{=matrix} = {matrix}

{=matrix} += {vector}

{new box} = {box}

{new box} = {box} if {test} else {box}

{new flag} = {test}

{box}.held = {matrix}

{box}.held += {vector}

{box}.held = {box}.held.to({device})

{box}.inner = {box}

{box}.moved = {matrix}

{box}.place({device})

setattr({box}, 'held', {matrix})

{box}.parts.append({matrix})

{box}.named['a'] = {matrix}

{box}.scale = {vector}

Box.scale = {vector}

del {box}.held

assert {test}

{new matrix} = {call}
"""

CLASSES: Final = """
class Base:
    scale = torch.ones(3)
    def __init__(self, held, where=None, inner=None):
        self.held, self.inner = held, inner
        self.parts, self.named = [held], {{'a': held}}
        if where is not None:
            self.place(where)
    @property
    def moved(self):
        return self.held.to({device})
    @moved.setter
    def moved(self, value):
        self.held = value
    def place(self, where):
        {block}
        self.held = self.held.to(where)
        return self
    def total(self):
        return sum(self.parts, self.held)
    def run(self, x):
        {block}
        return self.held * x
    def __getitem__(self, place):
        return self.parts[place]
    def __iter__(self):
        yield self.held
        for part in self.parts:
            yield part
    def __enter__(self):
        return self.held
    def __exit__(self, *error):
        {block}
    def __call__(self, x):
        return self.run(x) + self.scale

class Box(Base):
    def __init__(self, held, *rest, **options):
        super().__init__(held, *rest, **options)
        {block}
    @classmethod
    def make(cls, held, *parts):
        made = cls(held)
        made.parts.extend(parts)
        return made
    @staticmethod
    def mixed(x, y):
        {block}
        return x * y
    def run(self, x):
        {block}
        if {test}:
            return self.held
        return super().run(x) + self.scale
"""

GIVEN: Final = {
    **dict.fromkeys("xyz", "matrix"), "held": "matrix", "value": "matrix", "where": "device", "self": "box",
    "parts": "matrices", "more": "matrices",
}  # fmt: skip
"""The kinds of the parameters in the forms above."""

CALLS: Final = re.compile(r"\{box\}(?!\.held)|\{call\}")
"""What may call a method of an object."""

HOLE: Final = re.compile(r"(?<!\{)\{(test|flag|count|box|call|new \w+)\}")
PARAMETERS: Final = (
    "matrix",
    "matrix",
    "vector",
    "matrices",
    "named",
    "module",
    "box",
    "box",
    "flag",
    "count",
    "device",
)
OPTIONS: Final = {"bias": "matrix", "where": "device", "deep": "flag", "times": "count", "depth": "depth"}


class Writer:
    """Writes one program."""

    def __init__(self, seed: int, number: int) -> None:
        self.dice = Random(f"{seed}.{number}.rich")
        self.names: dict[str, list[str]] = {}
        self.callable: list[tuple[str, list[str], list[str], bool]] = []
        self.inside = False
        self.is_method = False
        self.home = self.dice.choice(DEVICES)
        self.scope = self._scope()

    def program(self) -> str:
        """Return the text of the program."""
        lines = [HEADER, *self._filled(CLASSES.replace("\n\n", "\n").strip("\n"))]
        self.is_method = False
        lines += ["STATE = torch.ones(3, 3)"]
        for _ in range(self.dice.randint(1, 3)):
            lines += self._function()
        self.scope, self.names = self._scope(), {}
        self.scope.names["matrix"] = ["STATE"]
        lines += [self.dice.choice(GUARDS), *self._filled("{new box} = {box}")]
        self.scope.devices.append("dev")
        return "\n".join([*lines, *self._block(self.dice.randint(4, 8)), ""])

    def _scope(self) -> Scope:
        return Scope(self.dice, self.home, [], [], [])

    def _function(self) -> list[str]:
        """Return a function; the functions before it may be called in it, and it may call itself."""
        self.scope, self.names = self._scope(), {}
        name = f"helper{len(self.callable)}"
        takes = [self.dice.choice(PARAMETERS) for _ in range(self.dice.randint(1, 3))]
        parameters = [self._new(kind) for kind in takes]
        options = self.dice.sample(list(OPTIONS), self.dice.randint(0, 2))
        has_rest = self.dice.random() < 0.3
        if has_rest:
            parameters.append("*rest")
            self.scope.names.setdefault("matrices", []).append("rest")
        bias = self._value("matrix")
        for each in options:
            kind = OPTIONS[each]
            given = self._value(kind) if kind != "matrix" else "None"
            parameters.append(f"{each}={given}")
            if kind != "depth":
                self._names(kind).append(each)
        if self.dice.random() < 0.3:
            parameters.append("**others")
            self.scope.names.setdefault("named", []).append("others")
        head = [f"def {name}({', '.join(parameters)}):"]
        if self.dice.random() < 0.15:
            head.append("    global STATE")
            self.scope.names.setdefault("matrix", []).extend(["STATE"] * 2)
        if "bias" in options:
            head += ["    if bias is None:", f"        bias = {bias}"]
        self.inside = True
        if "depth" in options:
            given = ", ".join([*[self._value(kind) for kind in takes], "depth=depth - 1"])
            head += ["    if depth > 0:", f"        return {name}({given})"]
        body = [*self._block(self.dice.randint(1, 4)), f"return {self._value('matrix')}"]
        self.inside = False
        self.callable.append((name, takes, options, has_rest))
        return [*head, *[f"    {line}" for line in body]]

    def _call(self) -> str:
        if not self.callable:
            return self._value("matrix")
        name, takes, options, has_rest = self.dice.choice(self.callable)
        given = [self._value(kind) for kind in takes]
        if has_rest:
            given += [self.dice.choice(["*{matrices}", "{matrix}", "*{pair}"]) for _ in range(self.dice.randint(0, 1))]
        named = [f"{each}={self._value(OPTIONS[each])}" for each in options if self.dice.random() < 0.5]
        if named and self.dice.random() < 0.3:
            named = [f"**dict({', '.join(named)})"]
        return self._text(f"{name}({', '.join([*given, *named])})")

    def _names(self, kind: str) -> list[str]:
        if kind == "device":
            return self.scope.devices
        if kind in get_args(Kind):
            return self.scope.names.setdefault(cast(Kind, kind), [])
        return self.names.setdefault(kind, [])

    def _new(self, kind: str) -> str:
        self.scope.count += 1
        name = f"{kind}{self.scope.count}"
        self._names("function" if kind == "inner" else kind).append(name)
        return name

    def _value(self, kind: str) -> str:
        """Return an expression of a kind."""
        if kind == "call":
            return self._call()
        if kind == "device":
            return self.scope.device()
        known = self._names(kind)
        self.scope.depth += 1
        is_own = kind in EXPRESSIONS and self.scope.depth < 5 and self.dice.random() < 0.5 and not self.is_method
        if kind in get_args(Kind) and not is_own:
            found = expression(self.scope, cast(Kind, kind), self.scope.depth)
        elif known and (not is_own or self.dice.random() < 0.7):
            found = self.dice.choice(known)
        else:
            forms = EXPRESSIONS[kind].strip().splitlines()
            found = self._text(self.dice.choice(forms if self.scope.depth < 5 else forms[:1]).strip())
        self.scope.depth -= 1
        return found

    def _text(self, form: str) -> str:
        """Return a form with its holes filled; the new names in it are known afterwards."""
        new: list[str] = []
        if self.scope.variable("matrix") is None:
            form = form.replace("{=matrix} +=", "{=matrix} =").replace("{=matrix}", "{new matrix}")

        def fill(hole: re.Match[str]) -> str:
            if hole[1].startswith("new "):
                new.append(hole[1][4:])
                return f"<{len(new) - 1}>"
            return self._value(hole[1])

        found = HOLE.sub(fill, form)
        found = filled(self.scope, found)
        for number, kind in enumerate(new):
            found = found.replace(f"<{number}>", self._new(kind))
        return found

    def _block(self, count: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            if not self.inside and self.dice.random() < 0.4:
                lines += self._filled("{new matrix} = {call}")
            elif self.dice.random() < 0.3:
                lines += _rendered(statements(self.scope, 1))
            else:
                forms = STATEMENTS.strip("\n").split("\n\n")
                chosen = self.dice.choice(forms)
                while (self.scope.depth > 1 and "{block}" in chosen) or (self.is_method and CALLS.search(chosen)):
                    chosen = self.dice.choice(forms)
                lines += self._filled(chosen)
        return lines

    def _filled(self, form: str) -> list[str]:
        lines: list[str] = []
        names = (
            {kind: list(held) for kind, held in self.scope.names.items()},
            {k: list(v) for k, v in self.names.items()},
        )
        self.scope.depth += 1
        for line in form.splitlines():
            text, indent = line.strip(), line[: len(line) - len(line.lstrip())]
            if text == "{block}":
                inner = self._block(self.dice.randint(0, 2)) or ["pass"]
            elif text == "{leave}":
                inner = self._leave()
            else:
                inner = [self._text(text)]
            lines += [indent + each for each in inner]
            if text.startswith("def "):
                self._enter(text, bool(indent))
        self.scope.depth -= 1
        if len(lines) > 1:
            self.scope.names, self.names = names
        return lines

    def _enter(self, head: str, is_method: bool) -> None:
        """Know the parameters of a function, and nothing else in a method."""
        if is_method:
            self.scope, self.names = self._scope(), {}
            self.is_method = True  # its blocks call no method: that would be a recursion without an end
        for name in re.findall(r"\w+", head.partition("(")[2]):
            kind = GIVEN.get(name)
            if kind is not None:
                self._names(kind).append(name)

    def _leave(self) -> list[str]:
        if not self.inside:
            return [f"print({self._value('matrix')})"]
        return [self.dice.choice([f"return {self._value('matrix')}", "raise ValueError"])]


def _rendered(found: tuple[Statement, ...]) -> list[str]:
    lines: list[str] = []
    for each in found:
        lines += each.text.splitlines()
        lines += [f"    {line}" for line in _rendered(each.body)]
    return lines


def program(seed: int, number: int) -> str:
    """Return the text of a program: of each two, one of the differential tests; the same for the same two numbers."""
    return Writer(seed, number).program() if number % 2 else generate(seed, number).text
