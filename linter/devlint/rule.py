"""What a rule is: a visitor that asks for the facts of a syntax node, decides and reports."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import PurePath
from typing import ClassVar, TypeVar

import libcst as cst

from devlint.addresses import page_of
from devlint.declarations import Declaration
from devlint.diagnostics import Cause, Certainty, Diagnostic, Fix, Label, Place, Related, RuleText, Severity
from devlint.errors import RuleError
from devlint.facts import Anchored, Broken, Fact, FileFacts
from devlint.frontend.pieces import Tree
from devlint.records import dataclass
from devlint.sources.program import Cell
from devlint.syntax import Syntax

FactT = TypeVar("FactT", bound=Fact)

_OWN_PACKAGE = "devlint_rules"
"""The package of the rules that have pages on devlint's site."""

DOCUMENTED = "What it does"
"""The heading of the text that lists of rules quote."""

HEADINGS = (
    DOCUMENTED,
    "Why is this bad",
    "Example",
    "Use instead",
    "Fix safety",
    "Known limits",
    "PyTorch says",
)
"""The headings of a rule's docstring, in this order."""


_CERTAINTIES = {each.value: each for each in Certainty}


def kebab(name: str) -> str:
    """`MixedDeviceOperands` as `mixed-device-operands`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


@dataclass(slots=True)
class Shared:
    """What the rules that visit one file have in common.

    Attributes:
        tree: the nodes of the file; None before a visit.
        facts: by node, those of its stretch.
        cells: of a notebook.
        syntax: built when the first of them asks.
    """

    tree: Tree | None = None
    facts: Mapping[cst.CSTNode, tuple[Anchored, ...]] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()
    syntax: Syntax | None = None


class Rule(cst.BatchableCSTVisitor):
    """Base class of all rules: a subclass visits nodes, asks `facts_of`, and calls `report`.

    One instance checks one file. The class docstring is the rule's documentation, see `HEADINGS`. The name is
    the class name in kebab case, which is also the name of the rule's file with dashes for underscores.

    A rule that sets neither `wants` nor `mentions` and has visitors visits every file that devlint analyses.
    A subclass with an `__init__` of its own takes `display` and hands it on: `super().__init__(display)`.

    Attributes:
        code: `DEV101`.
        name: `mixed-device-operands`.
        former_names: earlier names, which selectors and suppressions may still use.
        severity: how bad it is unless configured.
        opt_in: it is off unless `select` or `extend-select` covers it.
        since: the version of devlint, or of the rule's package, that brought it.
        wants: the classes of facts that the rule is about; it must ask for every such fact of a file.
        mentions: for a rule about wording: it visits the files that have this text as well, whatever their facts.
        shared: one object for all rules that visit a file together.
    """

    code: ClassVar[str] = ""
    name: ClassVar[str] = ""
    former_names: ClassVar[tuple[str, ...]] = ()
    severity: ClassVar[Severity] = Severity.WARNING
    opt_in: ClassVar[bool] = False
    since: ClassVar[str] = ""
    wants: ClassVar[tuple[type[Fact], ...]] = ()
    mentions: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = kebab(cls.__name__)

    def __init__(self, display: str) -> None:
        """A checker of the file that is shown to the user as `display`."""
        super().__init__()
        self.display = display
        self._diagnostics: list[Diagnostic] = []
        self._asked: set[int] = set()
        self.shared = Shared()

    def syntax(self) -> Syntax:
        """The file's nodes by place, and the edits that change them: what a fix is made with."""
        if self.shared.syntax is None:
            assert self.shared.tree is not None, "before the visit there is no syntax"
            self.shared.syntax = Syntax(self.shared.tree, self.place_of, self.shared.cells)
        return self.shared.syntax

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The reports so far, each item once."""
        return tuple(dict.fromkeys(self._diagnostics))

    @classmethod
    def documentation(cls) -> str:
        """The rule's documentation, in Markdown; empty when it has none."""
        return inspect.getdoc(cls) or "" if cls.__doc__ else ""

    @classmethod
    def documentation_for_users(cls) -> str:
        """The documentation, with the comments of its example in words instead of in the notation of the tests."""
        return re.sub(r"# error: \[[a-z-]+\].*", "# reported here", cls.documentation().strip())

    @classmethod
    def sections(cls) -> dict[str, str]:
        """The documentation by heading."""
        parts = re.split(r"^## (.+?)\s*$", cls.documentation(), flags=re.MULTILINE)
        return {heading: text.strip("\n") for heading, text in zip(parts[1::2], parts[2::2], strict=True)}

    @classmethod
    def undocumented(cls) -> str:
        """Return how the docstring differs from `HEADINGS`, in words; "" if it has all of them in order."""
        sections = cls.sections()
        missing = [heading for heading in HEADINGS if heading not in sections]
        if missing:
            return f"its docstring lacks {_headings(missing)}"
        if tuple(sections) != HEADINGS:
            return f"its docstring has {_headings(sections)}; the order is {', '.join(HEADINGS)}"
        empty = [heading for heading, text in sections.items() if not text.strip()]
        return f"its docstring has no text under {_headings(empty)}" if empty else ""

    @classmethod
    def standing(cls) -> str:
        """How severe it is, and whether it has to be asked for: `error`, `warning`, `warning, opt-in`."""
        return f"{cls.severity.value}, opt-in" if cls.opt_in else cls.severity.value

    @classmethod
    def summary(cls) -> str:
        """Return the first sentence below the heading `DOCUMENTED` on one line; without that heading, of the
        docstring."""
        text = " ".join(cls.sections().get(DOCUMENTED, cls.documentation()).split())
        return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]

    @classmethod
    def title(cls) -> str:
        """Return the problem in a few words: those behind the name at the top of the rule's file, else the summary."""
        first = (sys.modules[cls.__module__].__doc__ or "").strip().partition("\n")[0]
        name, colon, words = first.partition(": ")
        return words.rstrip(".") if colon and name == cls.name else cls.summary().rstrip(".")

    @classmethod
    def text(cls) -> RuleText:
        """Return its documentation as plain data."""
        return RuleText(
            cls.code,
            cls.name,
            cls.severity,
            cls.summary(),
            cls.documentation_for_users(),
            description=" ".join(cls.sections().get(DOCUMENTED, "").split()) or cls.summary(),
            opt_in=cls.opt_in,
            page=cls.page(),
        )

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report: what fails, when and why; names one culprit, the value to change."""
        return f"`{broken.operation}` {broken.fails}"

    @classmethod
    def told(cls, broken: Broken) -> Diagnostic:
        """Return the report of a broken requirement."""
        sides = [each for each in (broken.culprit, broken.other) if each.place is not None and each.where]
        steps = {each.decided: each.how for each in (broken.culprit, broken.other) if each.decided is not None}
        return Diagnostic(
            cls.code,
            cls.name,
            cls.severity,
            _CERTAINTIES.get(broken.level, Certainty.POSSIBLE),
            cls.headline(broken),
            broken.place,
            labels=tuple([Label(each.place, f"on {each.where}") for each in sides if each.place is not None]),
            related=tuple([Related(place, f"{how} here" if how else "decided here") for place, how in steps.items()]),
            calls=broken.calls,
        )

    @classmethod
    def page(cls) -> str | None:
        """Return the address of the rule's page; None without one. A rule package overrides this for its own pages."""
        return page_of(cls.code) if cls.__module__.partition(".")[0] == _OWN_PACKAGE else None

    @classmethod
    def declaration(cls) -> Declaration:
        """Return the attributes that devlint asks for before it makes an instance."""
        return Declaration(
            cls.__module__,
            cls.__name__,
            cls.code,
            cls.name,
            cls.severity,
            cls.opt_in,
            wants=tuple(kind.__name__ for kind in cls.wants),
            mentions=cls.mentions,
            everywhere=not cls.wants and not cls.mentions and bool(_visitors(cls, Rule)),
            undocumented=cls.undocumented(),
            former_names=cls.former_names,
        )

    def facts_of(self, node: cst.CSTNode, kind: type[FactT]) -> tuple[FactT, ...]:
        """The facts of that kind which belong to the node, in the order the analysis found them."""
        found: list[FactT] = []
        for anchored in self.shared.facts.get(node, ()):
            if isinstance(anchored.fact, kind):
                self._asked.add(id(anchored))
                found.append(anchored.fact)
        return tuple(found)

    def unasked(self, facts: FileFacts) -> tuple[Anchored, ...]:
        """The wanted facts of the file that were not asked for; empty after a complete visit."""
        return tuple(
            anchored
            for anchored in facts.facts
            if isinstance(anchored.fact, self.wants) and id(anchored) not in self._asked
        )

    def place_of(self, node: cst.CSTNode) -> Place:
        """The stretch of a node: that of its facts where it has some, so that rule and analysis agree."""
        anchored = self.shared.facts.get(node)
        if anchored is not None:
            return anchored[0].place
        assert self.shared.tree is not None, "before the visit there are no nodes"
        line, column, end_line, end_column = self.shared.tree.stretch(node)
        return Place(self.display, line, column + 1, end_line, end_column + 1)

    def report(
        self,
        where: cst.CSTNode | Place,
        message: str,
        *,
        severity: Severity | None = None,
        certainty: Certainty = Certainty.CERTAIN,
        labels: Iterable[Label] = (),
        related: Iterable[Related] = (),
        pytorch: str | None = None,
        advice: str | None = None,
        fix: Fix | None = None,
        calls: Iterable[Place] = (),
        cause: Cause | None = None,
    ) -> None:
        """Records a diagnostic at a node or place; the arguments are the fields of `Diagnostic`.

        `severity`: another than that of the rule. A possible error is reported without its `fix`.
        """
        diagnostic = Diagnostic(
            code=self.code,
            rule=self.name,
            severity=severity or self.severity,
            certainty=certainty,
            message=message,
            place=where if isinstance(where, Place) else self.place_of(where),
            labels=tuple(labels),
            related=tuple(related),
            pytorch=pytorch,
            advice=advice,
            fix=None if certainty is Certainty.POSSIBLE else fix,
            calls=tuple(calls),
            cause=cause,
        )
        self._diagnostics.append(diagnostic)


class OperationRule(Rule):
    """Base of rules about operations: devlint calls `operation` with each operation that has facts.

    An operation is whatever executes: an operator, a call, a subscript, an assignment, a loop. Several nodes may have
    one stretch, such as a call and a statement of this call alone. Then `operation` gets each of them with the same
    facts, and a repeated report counts once. Such a rule is not taken through the whole file, so it has no visitors of
    its own.
    """

    def operation(self, node: cst.CSTNode) -> None:
        """Looks at one operation; called for outer nodes before inner ones."""
        raise NotImplementedError


OPERATIONS = (cst.BaseSmallStatement, cst.BaseCompoundStatement, cst.BaseExpression, cst.CompFor, cst.Arg)
"""The nodes that stand for something that executes."""


def _headings(names: Iterable[str]) -> str:
    listed = ", ".join(f"`## {name}`" for name in names)
    return f"the heading {listed}" if "," not in listed else f"the headings {listed}"


def _visitors(rule: type[Rule], base: type[Rule]) -> list[str]:
    """Return the names of the LibCST visitors that a rule defines below a base class."""
    own = rule.__mro__[: rule.__mro__.index(base)]
    return [name for cls in own for name in vars(cls) if name.startswith(("visit_", "leave_"))]


def validate(rule: type[Rule]) -> None:
    """Checks that a rule keeps the contract of this file; its documentation may be incomplete, see `undocumented`.

    Raises:
        RuleError: naming the file and line of the class.
    """
    path = inspect.getsourcefile(rule)

    def refuse(message: str) -> RuleError:
        try:
            line = inspect.getsourcelines(rule)[1]  # splits the whole file into tokens: only for a message
        except OSError:
            line = None
        return RuleError(f"rule {rule.__name__}: {message}", path=path, line=line)

    if re.fullmatch(r"[A-Z]{2,}[0-9]{3,}", rule.code) is None:
        raise refuse(f"code {rule.code!r} is not of the form DEV101")
    if not isinstance(rule.severity, Severity):
        raise refuse(f"severity {rule.severity!r} is not a Severity")
    if not rule.since:
        raise refuse("`since` is missing")
    if rule.name in rule.former_names:
        raise refuse(f"{rule.name} is its name, and no former one")
    if issubclass(rule, OperationRule):
        visitors = _visitors(rule, OperationRule)
        if visitors:
            raise refuse(f"is an OperationRule, and devlint does not call {visitors[0]}; with visitors it is a Rule")
        if not rule.wants:
            raise refuse("is an OperationRule with no `wants`, and devlint calls `operation` for wanted facts only")
    stem = PurePath(path or "").stem
    if stem.replace("_", "-") != rule.name:
        raise refuse(f"is called {rule.name}, its file is called {stem}.py")
