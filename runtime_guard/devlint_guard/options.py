"""The guard's options as text: the environment variable `DEVLINT_GUARD`, which each way in reads.

`record,level=deep,first_steps=5,ledger,allow=DEV201,allow=*.rotary_emb`: a mode first, or `off`; then options of
`Guard`, those that are on or off by their name alone. Nothing reads the variable unless the program is started by
`devlint run`, tested with `--devlint-guard`, or asks for it with `from_env`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final, get_args

from torch.nn import Module

from devlint_guard.errors import GuardUsageError
from devlint_guard.session import Guard, Level, Mode

VARIABLE: Final = "DEVLINT_GUARD"

OFF: Final = "off"


def parse(text: str) -> dict[str, Any] | None:
    """The options of `Guard` that a text stands for; None where it turns the guard off.

    Raises:
        GuardUsageError: it has a word that means nothing.
    """
    first, *rest = (word.strip() for word in text.split(","))
    options: dict[str, Any] = {}
    if first.partition("=")[0] in _READ:
        rest = [first, *rest]
    elif _one_of((*get_args(Mode), OFF), "mode")(first) != OFF:
        options["mode"] = first
    elif rest:
        raise GuardUsageError(f"{OFF} goes with no other word")
    else:
        return None
    for word in rest:
        name, equals, value = word.partition("=")
        if name not in _READ:
            raise GuardUsageError(_unknown(name, _READ, "option"))
        read = _READ[name]
        if bool(equals) is (read is None):
            raise GuardUsageError(f"{word!r}: {name} is given {f'as {name}=…' if read else 'no value'}")
        found = True if read is None else read(value)
        options[name] = (*options.get(name, ()), value) if name == "allow" else found
    return options


def chosen(explicit: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a way in was told explicitly, and for the rest what the environment says; None where the guard is off.

    Args:
        explicit: options of `Guard`, None for each that is not given; `mode` may be `off`.

    Raises:
        GuardUsageError: the variable has a word that means nothing.
    """
    said = {name: value for name, value in explicit.items() if value is not None}
    if said.get("mode") == OFF:
        return None
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return said
    try:
        options = parse(text)
    except GuardUsageError as error:
        raise GuardUsageError(f"{VARIABLE}={text!r}: {error}") from None
    if options is None:
        return said if "mode" in said else None
    return {**options, **said}


def from_env(*modules: Module, **defaults: Any) -> contextlib.AbstractContextManager[Guard | None]:
    """A guard as `DEVLINT_GUARD` says; a context manager that does nothing where it says nothing, or `off`.

    Args:
        modules: as of `Guard`.
        defaults: options of `Guard` that the variable does not set.

    Raises:
        GuardUsageError: the variable has a word that means nothing, or an option a value that it cannot have.
    """
    options = chosen({}) if os.environ.get(VARIABLE, "").strip() else None
    return contextlib.nullcontext() if options is None else Guard(*modules, **{**defaults, **options})


def _unknown(word: str, known: Iterable[str], kind: str) -> str:
    known = list(known)
    close = get_close_matches(word, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
    return f"no {kind} is called {word!r}; {hint}"


def _one_of(words: Iterable[str], kind: str) -> Callable[[str], str]:
    words = list(words)

    def convert(text: str) -> str:
        if text not in words:
            raise GuardUsageError(_unknown(text, words, kind))
        return text

    return convert


def _number(text: str) -> int:
    if not text.isdecimal():
        raise GuardUsageError(f"{text!r} is no number of steps")
    return int(text)


_READ: Final[Mapping[str, Callable[[str], Any] | None]] = {
    "mode": _one_of(get_args(Mode), "mode"),
    "level": _one_of(get_args(Level), "level"),
    "first_steps": _number,
    "every": _number,
    "expect": str,
    "allow": str,
    "report": str,
    "ledger": None,
    "strict": None,
}
"""How the value of an option is read; None for one that is on by its name alone."""
