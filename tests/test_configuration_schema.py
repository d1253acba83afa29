"""The JSON Schema of the configuration says what devlint itself accepts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from devlint.configuration import read_configuration
from devlint.configuration_keys import KEYS, schema
from devlint.errors import ConfigError
from devlint.settings import Configuration
from jsonschema import Draft7Validator

from tests.conftest import REPOSITORY, Expect
from tests.pages import blocks, read

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA = Draft7Validator(schema())
FILE = REPOSITORY / "linter" / "devlint.schema.json"

ACCEPTED = {
    "select": ['["DEV1", "ALL", "data-parallel-device-ids"]', "[]"],
    "ignore": ['["DEV203"]'],
    "extend-select": ['["DEV303"]'],
    "per-file-ignores": ['{"tests/**" = ["DEV301"]}', "{}"],
    "exclude": ['["third_party/", "!build"]'],
    "src": ['["."]'],
    "severity": ['{unguarded-cuda = "error", DEV2 = "warning"}'],
    "signatures": ["[]"],
    "devices": ["0", "8"],
    "min-certainty": ['"certain"', '"on-accelerator"', '"possible"'],
    "baseline": ['"baseline.json"'],
    "extend": ['"profile:vllm"'],
}

REFUSED = {
    "select": ['"DEV1"', "[1]"],
    "ignore": ["true"],
    "extend-select": ["{}"],
    "per-file-ignores": ["[]", '{"a" = "DEV1"}'],
    "exclude": ['"build"', "[[]]"],
    "src": ['"lib"'],
    "severity": ['{DEV1 = "eror"}', '["DEV1"]', "{DEV1 = 1}"],
    "signatures": ['"a.pyi"'],
    "devices": ["-1", "true", "1.5", '"2"'],
    "min-certainty": ['"likely"', "1"],
    "baseline": ["[]"],
    "extend": ["1"],
    "selct": ['["DEV1"]'],
}


def _pairs(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(key, value) for key, values in table.items() for value in values]


def _read(folder: Path, key: str, value: str) -> Configuration | None:
    file = folder / "devlint.toml"
    file.write_text(f"{key} = {value}\n", encoding="utf-8")
    return read_configuration(file, "devlint.toml")


def test_every_key_is_tried() -> None:
    assert set(ACCEPTED) == {key.name for key in KEYS} == set(REFUSED) - {"selct"}


@pytest.mark.parametrize(("key", "value"), _pairs(ACCEPTED))
def test_both_accept_it(tmp_path: Path, key: str, value: str) -> None:
    assert _read(tmp_path, key, value) is not None
    assert list(SCHEMA.iter_errors(tomllib.loads(f"{key} = {value}"))) == []


@pytest.mark.parametrize(("key", "value"), _pairs(REFUSED))
def test_both_refuse_it(tmp_path: Path, key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=key):
        _read(tmp_path, key, value)
    assert list(SCHEMA.iter_errors(tomllib.loads(f"{key} = {value}"))) != []


def test_the_example_of_the_page_is_valid() -> None:
    (example,) = [block for block in blocks(read("linter/configuration.md"), "toml") if "[tool.devlint]" in block]
    assert list(SCHEMA.iter_errors(tomllib.loads(example)["tool"]["devlint"])) == []


def test_the_schema_is_one_and_is_written_down(expect: Expect) -> None:
    Draft7Validator.check_schema(schema())
    expect(FILE, json.dumps(schema(), indent=2) + "\n")
