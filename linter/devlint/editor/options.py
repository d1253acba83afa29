"""What a client may set, at its start or later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from devlint.records import dataclass
from devlint.retired import RETIRED, remark
from devlint.settings import Settings, did_you_mean

HINTS = ("bindings", "off")
MODES = ("openFilesOnly", "workspace")
ENGINES = ("analysis", "inference")


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of an editor; unknown keys and wrong values count as not given.

    Attributes:
        mode: "openFilesOnly" reports on open documents; "workspace" on all files of the project.
        inlay_hints: "bindings" shows where each name lives at the place where it is bound; "off".
        select, extend_select, ignore: as on the command line.
        config: the configuration file for every source file.
        engine: which analysis finds errors; no page tells of it.
        problems: for the user, about the unknown keys and wrong values.
    """

    mode: str = "openFilesOnly"
    inlay_hints: str = "bindings"
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    config: Path | None = None
    engine: str = ENGINES[0]
    problems: tuple[str, ...] = ()

    @property
    def remark(self) -> str:
        """A note on the retired rules that the settings name; "" if they name none."""
        named = (*(self.select or ()), *self.extend_select, *self.ignore)
        return remark({one.code for one in RETIRED if any(map(one.is_called, named))})

    def settings(self, path: Path, workspace: Path | None) -> Settings:
        """Return the command line that these settings stand for, for a file or a folder in a workspace."""
        return Settings(
            (str(path),),
            select=self.select,
            ignore=self.ignore,
            extend_select=self.extend_select,
            config=self.config,
            engine=self.engine,
            within=() if workspace is None else (workspace,),
            in_editor=True,
        )


def read_options(given: object, *, is_own: bool = False) -> Options:
    """Read the settings that a client sends: `{"inlayHints": "off", "select": ["DEV1"]}`, also below "devlint".

    Args:
        given: the settings.
        is_own: they are for devlint only. Otherwise other keys beside "devlint" may be those of other servers.
    """
    top = _table(given)
    table = _table(top.get("devlint", top))
    known = {key: value for key, value in table.items() if key in _ALLOWED and value is not None}
    wrong = {key for key, value in known.items() if not _is_allowed(key, value)}
    unknown = [key for key in table if key not in _ALLOWED] if is_own or "devlint" in top else []
    right = {key: value for key, value in known.items() if key not in wrong}
    config = right.get("config")
    return Options(
        mode=str(right.get("diagnosticMode", MODES[0])),
        inlay_hints=str(right.get("inlayHints", HINTS[0])),
        select=_names(right.get("select")),
        extend_select=_names(right.get("extendSelect")) or (),
        ignore=_names(right.get("ignore")) or (),
        config=Path(str(config)) if config else None,
        engine=str(right.get("engine", ENGINES[0])),
        problems=(
            *(f'unknown setting "{key}"{did_you_mean(key, _ALLOWED)}' for key in unknown),
            *(f'setting "{key}": {_wanted(key)}, not {json.dumps(known[key], default=str)}' for key in sorted(wrong)),
        ),
    )


_ALLOWED: Mapping[str, tuple[str, ...] | type] = {
    "diagnosticMode": MODES,
    "inlayHints": HINTS,
    "select": list,
    "extendSelect": list,
    "ignore": list,
    "config": str,
    "engine": ENGINES,
}
"""The settings, each with its values or their type; a list holds names."""


def _is_allowed(key: str, value: object) -> bool:
    allowed = _ALLOWED[key]
    if isinstance(allowed, tuple):
        return value in allowed
    return isinstance(value, str) if allowed is str else _names(value) is not None


def _wanted(key: str) -> str:
    allowed = _ALLOWED[key]
    if isinstance(allowed, tuple):
        return " or ".join(f'"{value}"' for value in allowed)
    return "the path of a file" if allowed is str else "a list of rules"


def _table(given: object) -> Mapping[str, object]:
    if isinstance(given, Mapping):
        return given
    fields = getattr(given, "_asdict", None)  # pygls turns unknown objects into named tuples
    return fields() if callable(fields) else {}


def _names(given: object) -> tuple[str, ...] | None:
    if not isinstance(given, (list, tuple)) or not all(isinstance(name, str) for name in given):
        return None
    return tuple(given)
