"""Test rules on programs with comments about the reports: `x.cuda()  # error: [rule-name] "text"`.

A test of a rule package looks like this, with a program `train.py` beside it:

    from devlint.testing import assert_reports

    def test_reports() -> None:
        assert_reports(Path(__file__).with_name("train.py"), "hard-coded-gpu")

`assert_reports` fails for each report without a comment on its line, and for each comment without a report.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

from devlint.diagnostics import Diagnostic
from devlint.errors import DevlintError
from devlint.records import dataclass
from devlint.settings import Settings

_CLAIM = re.compile(r'\[(?P<rule>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)\]\s*(?:"(?P<text>[^"]*)"\s*)?(?P<rest>.*)')


class ExpectationError(DevlintError):
    """A comment that states a report is malformed."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A report that a comment states.

    Attributes:
        line: where, from 1.
        rule: the name of the rule.
        text: part of the message; "" fits every message.
        rest: the words behind it, which `assert_reports` ignores.
    """

    line: int
    rule: str
    text: str = ""
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """One part of a comment, such as `# error: [rule-name]`.

    Attributes:
        line: where, from 1.
        word: its first word: `error`.
        rest: the text behind the word, with its colon.
        alone: no code stands before it on its line.
    """

    line: int
    word: str
    rest: str
    alone: bool


def remarks(source: str, words: Iterable[str]) -> Iterator[Remark]:
    """Yield the remarks in the comments of a program that begin with one of the words and a colon.

    A word that a bracket follows counts too, so that a reader can complain about the missing colon.

    Raises:
        SyntaxError, tokenize.TokenError: the program cannot be split into tokens.
    """
    beginning = re.compile(rf"#\s*(?=(?:{'|'.join(words)})\s*[:\[])")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            alone = not token.line[: token.start[1]].strip()
            for part in beginning.split(token.string)[1:]:
                word = re.match(r"\w+", part)
                assert word is not None, "the expression looks ahead for one"
                yield Remark(token.start[0], word[0], part[word.end() :].strip(), alone)


def claim(line: int, text: str) -> Expected | None:
    """Return what `[rule-name] "text"` states about a line; None if the text has another form."""
    match = _CLAIM.fullmatch(text)
    return None if match is None else Expected(line, match["rule"], match["text"] or "", match["rest"])


def expected(source: str, path: str) -> tuple[Expected, ...]:
    """Return the reports that the `# error:` comments of a program state.

    Args:
        source: the program.
        path: its name, for messages.

    Raises:
        ExpectationError: a comment is malformed, or the program cannot be split into tokens.
    """
    found = []
    try:
        for remark in remarks(source, ["error"]):
            stated = claim(remark.line, remark.rest.removeprefix(":").strip()) if remark.rest[:1] == ":" else None
            if stated is None or remark.alone:
                message = f'a report is stated behind code as `# error: [rule-name] "text"`, not `# error{remark.rest}`'
                raise ExpectationError(message, path=path, line=remark.line)
            found.append(stated)
    except (SyntaxError, tokenize.TokenError) as error:
        raise ExpectationError(f"cannot be split into tokens: {error}", path=path) from error
    return tuple(found)


def differences(reported: Iterable[Diagnostic], stated: Iterable[Expected]) -> list[str]:
    """Return a sentence for each report that no comment states, and for each stated report that is missing.

    One comment may state several reports of its rule on its line.
    """
    found, wanted = list(reported), list(stated)
    sentences = [
        (one.place.line, f"line {one.place.line}: [{one.rule}] {one.message}: no comment says so")
        for one in found
        if not any(_states(each, one) for each in wanted)
    ]
    for each in wanted:
        if not any(_states(each, one) for one in found):
            text = f' "{each.text}"' if each.text else ""
            sentences.append((each.line, f"line {each.line}: [{each.rule}]{text} is not reported"))
    return [sentence for _, sentence in sorted(sentences, key=itemgetter(0))]


def _states(each: Expected, diagnostic: Diagnostic) -> bool:
    return (each.line, each.rule) == (diagnostic.place.line, diagnostic.rule) and each.text in diagnostic.message


def reports(path: Path, *rules: str) -> tuple[Diagnostic, ...]:
    """Return what some rules report of a file, as `devlint check --isolated` would.

    Args:
        path: the file; other files of its project are read as in any run.
        rules: codes, prefixes of codes or names of rules.

    Raises:
        DevlintError: a rule is unknown, or the file cannot be read.
    """
    from devlint import engine

    run = engine.run(_settings(path, rules))
    if run.problems:
        raise run.problems[0]
    return run.outcome.diagnostics


def assert_reports(path: Path, *rules: str) -> None:
    """Hold what some rules report of a file against its `# error:` comments.

    Args:
        path: the file; other files of its project are read as in any run.
        rules: codes, prefixes of codes or names of rules.

    Raises:
        AssertionError: a report has no comment, or a comment has no report.
        DevlintError: a rule is unknown, a comment is malformed, or the file cannot be read.
    """
    found = reports(path, *rules)
    wrong = differences(found, expected(path.read_text(encoding="utf-8"), str(path)))
    if wrong:
        raise AssertionError("\n".join([f"{path}:", *(f"  {sentence}" for sentence in wrong)]))


def fixed(path: Path, *rules: str) -> str:
    """Return the text of a file with all fixes of some rules made, safe and unsafe; the file stays as it is.

    Args:
        path: the file.
        rules: codes, prefixes of codes or names of rules.

    Raises:
        DevlintError: a rule is unknown.
    """
    from devlint import engine

    run = engine.run(replace(_settings(path, rules), fix=True, unsafe_fixes=True))
    (after,) = [change.after for change in run.changes] or [path.read_bytes()]
    return after.decode("utf-8")


def _settings(path: Path, rules: tuple[str, ...]) -> Settings:
    if not rules:
        raise TypeError("name at least one rule")
    return Settings(paths=(str(path),), select=rules, isolated=True)
