"""What rules declare of themselves, as plain data: all that is asked of a rule before it has to look at a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.diagnostics import Certainty, Severity
from devlint.records import dataclass

if TYPE_CHECKING:
    from devlint.facts import FileFacts


@dataclass(frozen=True, slots=True)
class Declaration:
    """One rule, which need not be loaded; the attributes of its class say the same, see there.

    Attributes:
        module, cls: where its class is.
        wants: the names of the classes of facts that it is about.
        everywhere: it visits every file, whatever the facts and the text.
        undocumented: how its documentation is incomplete, or "".
    """

    module: str
    cls: str
    code: str
    name: str
    severity: Severity
    opt_in: bool
    wants: tuple[str, ...]
    mentions: str
    everywhere: bool = False
    undocumented: str = ""
    former_names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the former names; users may write each of them."""
        return (self.name, *self.former_names)

    def concerns(self, text: str, facts: FileFacts, least: Certainty = Certainty.POSSIBLE) -> bool:
        """Whether the rule has to visit a file with that text and those facts; less certain ones do not count."""
        if self.everywhere or (self.mentions and self.mentions in text):
            return True
        wanted = (anchored.fact for anchored in facts.facts if type(anchored.fact).__name__ in self.wants)
        return any(getattr(fact, "certainty", Certainty.CERTAIN).is_at_least(least) for fact in wanted)
