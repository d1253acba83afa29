"""Diagnostics about suppressions: not understood, unused, naming no rule, or without a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from devlint.declarations import Declaration
from devlint.diagnostics import Certainty, Diagnostic, Edit, Fix, Place, Safety, Silenced
from devlint.selection import covering, retired_by, specificity
from devlint.suppressions import ABOUT_SUPPRESSIONS, Suppression, Used, read_suppressions

_OURS = r"DEV(?:[0-9][A-Z0-9]*)?"
"""The codes in a `# noqa` that no other tool is meant by."""

_NOQA = re.compile(r"noqa\b(.*)", re.IGNORECASE)
_OF_OURS = re.compile(r"\bDEV[0-9]", re.IGNORECASE)


def mentions_suppressions(text: str) -> bool:
    """Whether a text may hold suppressions of devlint's own; cheap, for files that need no other look."""
    # Each line is searched once from its first `noqa` on: one pattern for both would begin anew at each of them.
    return "devlint:" in text.lower() or any(_OF_OURS.search(found[1]) for found in _NOQA.finditer(text))


def silence(
    text: str, display: str, found: Sequence[Diagnostic], enabled: Sequence[Declaration], rules: Sequence[Declaration]
) -> tuple[list[Diagnostic], list[Silenced], list[Place], set[str]]:
    """Let the comments of a file silence its diagnostics, and add the diagnostics about these comments.

    Args:
        text: the file.
        display: its name, as shown to the user.
        found: what the rules report.
        enabled: the rules that are on for the file.
        rules: all rules.

    Returns:
        The reported diagnostics, the silenced ones, the places of comments that silence nothing here, but may silence
        what callers in other files show, and the codes of the retired rules that comments name.
    """
    suppressions, covers = read_suppressions(text), covering(tuple(rules))
    kept, silenced, used = suppressions.apply(found, covers)
    audit = _Audit(text, display, enabled, rules, used)
    about = [diagnostic for entry in suppressions.found for diagnostic in audit.of(entry)]
    reported, unreported, _ = suppressions.apply(about, covers)
    idle = [_place_of(entry, display) for entry in suppressions.found if audit.may_serve_callers(entry)]
    named = {selector for entry in suppressions.found for selector in entry.rules or ()}
    retired = {code for selector in named for code in retired_by(selector, rules)}
    return kept + reported, silenced + unreported, idle, retired


def silence_only(
    text: str, display: str, found: Sequence[Diagnostic], rules: Sequence[Declaration]
) -> tuple[list[Diagnostic], list[Silenced], list[Place]]:
    """Let the comments of a file silence diagnostics that the analysis of another file has found in it.

    Args:
        text, display, found, rules: as for `silence`.

    Returns:
        The reported diagnostics, the silenced ones, and the places of the comments that silence something.
    """
    suppressions = read_suppressions(text)
    kept, silenced, used = suppressions.apply(found, covering(tuple(rules)))
    return kept, silenced, sorted({_place_of(entry, display) for entry, _ in used})


def _place_of(entry: Suppression, display: str) -> Place:
    return Place(display, entry.line, entry.column, entry.line, entry.column + len(entry.text))


class _Audit:
    def __init__(
        self,
        text: str,
        display: str,
        enabled: Sequence[Declaration],
        rules: Sequence[Declaration],
        used: Used,
    ) -> None:
        self._lines = text.split("\n")
        self._display = display
        self._enabled = {rule.code: rule for rule in enabled}
        self._rules = rules
        self._used = used

    def of(self, entry: Suppression) -> Iterator[Diagnostic]:
        """Yield the diagnostics about one comment."""
        unused, unexplained = ABOUT_SUPPRESSIONS
        if not entry.understood:
            if unused in self._enabled:
                message = f"`{entry.text}` is not valid: write `{self._spelling(entry)}`"
                yield self._report(unused, entry, message, None)
            return
        idle, unknown = self._idle(entry), self._unknown(entry)
        if unused in self._enabled and (idle is not None or unknown):
            yield self._unused(unused, entry, idle, unknown)
        elif unexplained in self._enabled and not entry.reason and self._is_ours(entry):
            advice = "add the reason after it"
            yield self._report(unexplained, entry, f"`{entry.text}` gives no reason", advice)

    def _report(
        self, code: str, entry: Suppression, message: str, advice: str | None, edit: Edit | None = None
    ) -> Diagnostic:
        rule = self._enabled[code]
        place = _place_of(entry, self._display)
        fix = None if edit is None or advice is None else Fix(Safety.SAFE, advice, (edit,))
        return Diagnostic(code, rule.name, rule.severity, Certainty.CERTAIN, message, place, advice=advice, fix=fix)

    def _unused(
        self, code: str, entry: Suppression, idle: tuple[str, ...] | None, unknown: tuple[str, ...]
    ) -> Diagnostic:
        """Return the report on a comment that does less than it says."""
        if idle is None:
            return self._report(code, entry, "; ".join(unknown), None)
        names = ", ".join(f"`{selector}`" for selector in idle) or f"`{entry.text}`"
        where = "in this file" if entry.whole_file else "here"
        message = f"{names} {'silence' if len(idle) > 1 else 'silences'} nothing {where}"
        whole = len(idle) == len(entry.rules or ())
        advice = "remove the comment" if whole else f"remove {names} from it"
        edit = self._removal(entry) if whole else self._reduction(entry, idle)
        return self._report(code, entry, "; ".join([message, *unknown]), advice, edit)

    def _spelling(self, entry: Suppression) -> str:
        """Return the suppression that a comment seems to mean; `RULE` stands for the rule if it names none."""
        words = re.sub(r"#\s*devlint:\s*", "", entry.text, flags=re.IGNORECASE)
        keyword = re.match(r"[\w-]*", words)
        kind = "ignore-file" if keyword is not None and "file" in keyword[0].lower() else "ignore"
        named = [word for word in re.findall(r"\w+(?:-\w+)+|[A-Za-z]+[0-9]\w*", words) if self._is_known(word)]
        return f"# devlint: {kind}[{', '.join(dict.fromkeys(named)) or 'RULE'}]"

    def _stretch(self, entry: Suppression, start: int, end: int) -> Place:
        return Place(self._display, entry.line, start, entry.line, end)

    def _removal(self, entry: Suppression) -> Edit:
        """Return the edit that removes a comment with its reason, and with its line if nothing else is there."""
        line = self._lines[entry.line - 1]
        before, after = line[: entry.column - 1], line[entry.end - 1 :]
        if after.strip():  # another comment
            return Edit(self._stretch(entry, entry.column, len(line) - len(after.lstrip()) + 1), "")
        if before.strip() or entry.line == len(self._lines):
            return Edit(self._stretch(entry, len(before.rstrip()) + 1, len(line) + 1), "")
        return Edit(Place(self._display, entry.line, 1, entry.line + 1, 1), "")

    def _reduction(self, entry: Suppression, idle: tuple[str, ...]) -> Edit:
        """Return the edit that removes some selectors from a comment."""
        dropped = frozenset(idle)
        kept = ", ".join(selector for selector in entry.rules or () if selector not in dropped)
        start = entry.text.rindex(":" if entry.noqa else "[") + 1
        text = f" {kept}" if entry.noqa else f"{kept}]"
        return Edit(self._stretch(entry, entry.column + start, entry.column + len(entry.text)), text)

    def _is_ours(self, entry: Suppression) -> bool:
        return not entry.noqa or any(self._means(selector) for selector in entry.rules or ())

    def _means(self, selector: str) -> list[Declaration]:
        """Return the rules that a selector covers."""
        return [rule for rule in self._rules if specificity(selector, rule) is not None]

    def _is_known(self, selector: str) -> bool:
        """Whether a selector covers a rule, or names a retired one."""
        return bool(self._means(selector) or retired_by(selector, self._rules))

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

    def may_serve_callers(self, entry: Suppression) -> bool:
        """Whether a comment that silences nothing speaks of reports that callers in other files may show here."""
        idle = self._idle(entry) if entry.understood else None
        selectors = ("ALL",) if idle == () else idle or ()
        return any("Conflict" in rule.wants for selector in selectors for rule in self._means(selector))

    def _could_silence(self, selector: str) -> bool:
        """Whether all the rules that a selector speaks of were asked, so that its silence means something.

        An opt-in rule that was not asked for does not count. What speaks of reports about comments, and not of
        everything, has had no occasion yet.
        """
        meant = self._means(selector)
        if len(meant) < len(self._rules) and any(rule.code in ABOUT_SUPPRESSIONS for rule in meant):
            return False
        asked = [rule.code in self._enabled for rule in meant]
        return any(asked) and all(on or rule.opt_in for on, rule in zip(asked, meant, strict=True))

    def _unknown(self, entry: Suppression) -> tuple[str, ...]:
        """Return a sentence for each selector that covers no rule."""
        from devlint.registry import candidates

        unknown = [
            selector
            for selector in entry.rules or ()
            if selector.upper() != "ALL"
            and not self._is_known(selector)
            and (not entry.noqa or re.fullmatch(_OURS, selector))
        ]
        said = []
        for selector in unknown:
            offer = candidates(selector, self._rules)
            hint = f"; did you mean {' or '.join(offer)}?" if offer else ""
            said.append(f"`{selector}` names no rule{hint}")
        return tuple(said)
