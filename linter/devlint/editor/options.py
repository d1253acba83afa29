"""What a client may set, at its start or later."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from devlint.records import dataclass
from devlint.settings import Settings

HINTS = ("bindings", "off")
MODES = ("openFilesOnly", "workspace")


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of an editor; unknown keys and values of a wrong type count as not given.

    Attributes:
        mode: "openFilesOnly" reports on open documents; "workspace" on all files of the project.
        inlay_hints: "bindings" shows where each name lives at the place where it is bound; "off".
        select, extend_select, ignore: as on the command line.
        config: the configuration file for every source file.
    """

    mode: str = "openFilesOnly"
    inlay_hints: str = "bindings"
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    config: Path | None = None

    def settings(self, path: Path) -> Settings:
        """Return the command line that these settings stand for, for a file or a folder."""
        return Settings(
            (str(path),), select=self.select, ignore=self.ignore, extend_select=self.extend_select, config=self.config
        )


def read_options(given: object) -> Options:
    """Read the settings that a client sends: `{"inlayHints": "off", "select": ["DEV1"]}`, also below "devlint"."""
    table = _table(given)
    table = _table(table.get("devlint", table))
    hints, config, mode = table.get("inlayHints"), table.get("config"), table.get("diagnosticMode")
    return Options(
        mode=mode if isinstance(mode, str) and mode in MODES else MODES[0],
        inlay_hints=hints if isinstance(hints, str) and hints in HINTS else "bindings",
        select=_names(table.get("select")),
        extend_select=_names(table.get("extendSelect")) or (),
        ignore=_names(table.get("ignore")) or (),
        config=Path(config) if isinstance(config, str) and config else None,
    )


def _table(given: object) -> Mapping[str, object]:
    if isinstance(given, Mapping):
        return given
    fields = getattr(given, "_asdict", None)  # pygls turns unknown objects into named tuples
    return fields() if callable(fields) else {}


def _names(given: object) -> tuple[str, ...] | None:
    if not isinstance(given, (list, tuple)) or not all(isinstance(name, str) for name in given):
        return None
    return tuple(given)
