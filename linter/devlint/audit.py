"""What devlint says of suppressions themselves: that one silences nothing, names no rule, or gives no reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from devlint.diagnostics import Certainty, Diagnostic, Place, Silenced
from devlint.selection import covers, specificity
from devlint.suppressions import ABOUT_SUPPRESSIONS, Suppression, Used, read_suppressions

if TYPE_CHECKING:
    from devlint.rule import Rule

_OURS = re.compile(r"DEV[0-9]*")
"""The codes in a `# noqa` that no other tool is meant by."""

_MENTIONED = re.compile(r"devlint:|noqa\b.*\bDEV[0-9]", re.IGNORECASE)


def mentions_suppressions(text: str) -> bool:
    """Whether a text may hold suppressions of devlint's own; cheap, for files that need no other look."""
    return _MENTIONED.search(text) is not None


def silence(
    text: str, display: str, found: Sequence[Diagnostic], enabled: Sequence[type[Rule]], rules: Sequence[type[Rule]]
) -> tuple[list[Diagnostic], list[Silenced]]:
    """Let the comments of a file silence what was found in it, and add what is to be said of these comments.

    Args:
        text: the file.
        display: its name, as shown to the user.
        found: what the rules report.
        enabled: the rules that are on for the file.
        rules: all rules.

    Returns:
        What is reported, and what is not.
    """
    suppressions = read_suppressions(text)
    kept, silenced, used = suppressions.apply(found, covers)
    about = [
        diagnostic for entry in suppressions.found for diagnostic in _Audit(display, enabled, rules, used).of(entry)
    ]
    reported, unreported, _ = suppressions.apply(about, covers)
    return kept + reported, silenced + unreported


class _Audit:
    def __init__(self, display: str, enabled: Sequence[type[Rule]], rules: Sequence[type[Rule]], used: Used) -> None:
        self._display = display
        self._enabled = {rule.code: rule for rule in enabled}
        self._rules = rules
        self._used = used

    def of(self, entry: Suppression) -> Iterator[Diagnostic]:
        """Yield what is to be said of one comment."""
        idle, unknown = self._idle(entry), self._unknown(entry)
        unused, unexplained = ABOUT_SUPPRESSIONS
        if unused in self._enabled and (idle is not None or unknown):
            yield self._report(unused, entry, *_unused(entry, idle, unknown))
        elif unexplained in self._enabled and not entry.reason and self._is_ours(entry):
            yield self._report(
                unexplained,
                entry,
                f"`{entry.text}` gives no reason",
                "say behind it why the report does not matter here",
            )

    def _report(self, code: str, entry: Suppression, message: str, advice: str | None) -> Diagnostic:
        rule = self._enabled[code]
        place = Place(self._display, entry.line, entry.column, entry.line, entry.column + len(entry.text))
        return Diagnostic(code, rule.name, rule.severity, Certainty.CERTAIN, message, place, advice=advice)

    def _is_ours(self, entry: Suppression) -> bool:
        return not entry.noqa or any(self._means(selector) for selector in entry.rules or ())

    def _means(self, selector: str) -> list[type[Rule]]:
        """Return the rules that a selector covers."""
        return [rule for rule in self._rules if specificity(selector, rule.code, rule.name) is not None]

    def _idle(self, entry: Suppression) -> tuple[str, ...] | None:
        """Return the selectors that silence nothing; () when the comment as a whole does, None when all do."""
        if entry.rules is None:
            judged = not entry.noqa and self._could_silence("ALL")
            return () if judged and (entry, None) not in self._used else None
        idle = tuple(
            selector
            for selector in entry.rules
            if (entry, selector) not in self._used and self._could_silence(selector)
        )
        return idle or None

    def _could_silence(self, selector: str) -> bool:
        """Whether all the rules that a selector speaks of were asked, so that its silence means something.

        An opt-in rule that was not asked for does not count. What speaks of reports about comments alone has had
        no occasion yet.
        """
        meant = [rule for rule in self._means(selector) if rule.code not in ABOUT_SUPPRESSIONS]
        asked = [rule.code in self._enabled for rule in meant]
        return any(asked) and all(on or rule.opt_in for on, rule in zip(asked, meant, strict=True))

    def _unknown(self, entry: Suppression) -> tuple[str, ...]:
        """Return what is said of the selectors that cover no rule."""
        from devlint.registry import candidates

        unknown = [
            selector
            for selector in entry.rules or ()
            if selector.upper() != "ALL" and not self._means(selector) and (not entry.noqa or _OURS.fullmatch(selector))
        ]
        said = []
        for selector in unknown:
            offer = candidates(selector, self._rules)
            hint = f"; did you mean {' or '.join(offer)}?" if offer else ""
            said.append(f"`{selector}` names no rule{hint}")
        return tuple(said)


def _unused(entry: Suppression, idle: tuple[str, ...] | None, unknown: tuple[str, ...]) -> tuple[str, str | None]:
    """Return the message and the advice of a report on a comment that does less than it says."""
    where = "in this file" if entry.whole_file else "here"
    said, advice = list(unknown), None
    if idle is not None:
        names = ", ".join(f"`{selector}`" for selector in idle) or f"`{entry.text}`"
        said.insert(0, f"{names} {'silence' if len(idle) > 1 else 'silences'} nothing {where}")
        whole = not idle or len(idle) == len(entry.rules or ())
        advice = "remove the comment" if whole else f"remove {names} from it"
    return "; ".join(said), advice
