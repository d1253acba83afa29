"""The keys of a configuration file: the one definition that reader, JSON Schema and `--show-settings` follow."""

from __future__ import annotations

import enum
from typing import Final

from devlint import retired
from devlint.diagnostics import Certainty
from devlint.records import dataclass


class Kind(enum.Enum):
    """What a key takes."""

    FILE = "a path"
    FILES = "files"
    FOLDERS = "folders"
    RULES = "rules"
    PATTERNS = "patterns"
    RULES_BY_PATTERN = "rules by pattern"
    SEVERITY_BY_RULE = "severity by rule"
    COUNT = "a number of devices"
    CERTAINTY = "a certainty"


@dataclass(frozen=True, slots=True)
class Key:
    """One key.

    Attributes:
        name: as in the file.
        kind: the form of its value.
        meaning: one sentence.
    """

    name: str
    kind: Kind
    meaning: str

    @property
    def field(self) -> str:
        """The attribute of `Configuration` that has its value."""
        return self.name.replace("-", "_")


KEYS: Final = (
    Key("extend", Kind.FILE, "A file or a profile whose keys hold unless this file sets them."),
    Key("select", Kind.RULES, "Turn on these rules only."),
    Key("ignore", Kind.RULES, "Turn off these rules."),
    Key("extend-select", Kind.RULES, "Turn on these rules too."),
    Key("per-file-ignores", Kind.RULES_BY_PATTERN, "Rules to turn off in the files that match a pattern."),
    Key("exclude", Kind.PATTERNS, "Patterns to skip in folders, in the notation of .gitignore."),
    Key("src", Kind.FOLDERS, "Folders that imports start from, before the project's src and root."),
    Key("severity", Kind.SEVERITY_BY_RULE, "The severity of the reports of a rule."),
    Key("signatures", Kind.FILES, "Files that describe the devices of other libraries."),
    Key("devices", Kind.COUNT, "The number of CUDA devices of the machine; any number if it is not set."),
    Key("min-certainty", Kind.CERTAINTY, "Report nothing that is less certain: certain, on-accelerator or possible."),
    Key("baseline", Kind.FILE, "The file with the accepted reports."),
)
"""All keys, in the order of the documentation."""

NAMES: Final = tuple(key.name for key in KEYS)

_RULE: Final = {
    "type": "string",
    "pattern": "^\\s*([A-Za-z]+[0-9]*|[a-z]+[a-z0-9]*(-[a-z0-9]+)+)\\s*$",
    "description": "A code (DEV101), a prefix of codes (DEV1), a rule name, or ALL.",
}
_RULES: Final[dict[str, object]] = {"type": "array", "items": {"$ref": "#/definitions/rule"}}
_STRINGS: Final[dict[str, object]] = {"type": "array", "items": {"type": "string"}}
_SCHEMAS: Final[dict[Kind, dict[str, object]]] = {
    Kind.FILE: {"type": "string"},
    Kind.FILES: _STRINGS,
    Kind.FOLDERS: _STRINGS,
    Kind.RULES: _RULES,
    Kind.PATTERNS: _STRINGS,
    Kind.RULES_BY_PATTERN: {"type": "object", "additionalProperties": _RULES},
    Kind.SEVERITY_BY_RULE: {
        "type": "object",
        "propertyNames": {"$ref": "#/definitions/rule"},
        "additionalProperties": {"enum": ["error", "warning"]},
    },
    Kind.COUNT: {"type": "integer", "minimum": 0},
    Kind.CERTAINTY: {"enum": [level.value for level in Certainty]},
}


def schema() -> dict[str, object]:
    """Return the JSON Schema of `[tool.devlint]` and of a `devlint.toml`, in the form of SchemaStore."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://json.schemastore.org/devlint.json",
        "title": "devlint",
        "description": "Configuration of devlint, a static device-mismatch linter for PyTorch.",
        "type": "object",
        "additionalProperties": False,
        "definitions": {"rule": _RULE},
        "properties": {
            **{key.name: {"description": key.meaning, **_SCHEMAS[key.kind]} for key in KEYS},
            **{name: {"description": "Without effect."} for name in retired.KEYS},
        },
    }
