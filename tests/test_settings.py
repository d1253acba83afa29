"""The `[tool.devlint]` table: what it may say, what it becomes, and which rules that turns on."""

from __future__ import annotations

from pathlib import Path

import pytest
from devlint.configuration import Configurations, read_configuration
from devlint.diagnostics import Severity
from devlint.errors import ConfigError
from devlint.registry import load_rules
from devlint.selection import select_rules, specificity
from devlint.settings import Configuration, Settings, did_you_mean


def test_a_full_table_is_read(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "mine.pyi").touch()
    file = tmp_path / "pyproject.toml"
    file.write_text(
        """
[tool.devlint]
select = ["DEV1"]
ignore = ["DEV103"]
extend-select = ["unguarded-cuda"]
exclude = ["gen/"]
src = ["lib"]
signatures = ["mine.pyi"]
devices = 2

[tool.devlint.severity]
DEV3 = "error"

[tool.devlint.per-file-ignores]
"tests/**" = ["ALL"]
"""
    )

    assert read_configuration(file, "shown.toml") == Configuration(
        file="shown.toml",
        root=tmp_path,
        select=("DEV1",),
        ignore=("DEV103",),
        extend_select=("unguarded-cuda",),
        per_file_ignores=(("tests/**", ("ALL",)),),
        exclude=("gen/",),
        src=(tmp_path / "lib",),
        severity=(("DEV3", Severity.ERROR),),
        signatures=(tmp_path / "mine.pyi",),
        devices=2,
    )


def test_a_file_without_the_table_is_none(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    for text in ("", "[tool]\n", "[tool.other]\nselect = 3\n"):
        file.write_text(text)
        assert read_configuration(file, "x") is None


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(b"\xef\xbb\xbf[tool.devlint]\ndevices = 1\n")
    found = read_configuration(file, "x")
    assert found is not None
    assert found.devices == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[tool.devlint]\n\nselekt = []\n", 3),
        ("[tool.other]\nselekt = 1\n[tool.devlint]\n'selekt' = []\n", 4),
        ("[tool.devlint]\n[tool.devlint.selekt]\na = 1\n", 2),
        ("tool = { devlint = { selekt = 1 } }\n", None),
    ],
)
def test_an_unknown_key_is_placed_where_that_can_be_told(tmp_path: Path, text: str, line: int | None) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match='unknown key "selekt"; did you mean "select"') as caught:
        read_configuration(file, "shown.toml")
    assert (caught.value.path, caught.value.line) == ("shown.toml", line)


def test_bytes_that_are_no_utf8_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(b"[tool.devlint]\n# \xff\n")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        read_configuration(file, "x")


def test_nearest_table_wins_and_files_without_it_are_passed_over(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.devlint]\ndevices = 1\n")
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    configurations = Configurations(Settings((".",)))
    assert configurations.of(inner).root == tmp_path
    assert configurations.of(tmp_path).devices == 1
    assert Configurations(Settings((".",), isolated=True)).of(inner) == Configuration(None, inner)


def test_hints_come_only_for_what_is_close() -> None:
    assert did_you_mean("extend_select", ("select", "extend-select")) == '; did you mean "extend-select"?'
    assert did_you_mean("zzz", ("select",)) == ""


RULES = tuple(rule.declaration() for rule in load_rules())


@pytest.mark.parametrize(
    ("selector", "close"),
    [
        ("ALL", 0),
        ("all", 0),
        ("D", 1),
        ("DEV1", 4),
        ("dev10", 5),
        ("DEV101", 100),
        (" dev101 ", 100),
        ("mixed-device-operands", 100),
        ("mixed-device", None),
        ("DEV1010", None),
        ("DEV2", None),
        ("", None),
        ("-", None),
    ],
)
def test_how_closely_a_selector_names_a_rule(selector: str, close: int | None) -> None:
    assert specificity(selector, RULES[0]) == close


def _enabled(settings: Settings, configuration: Configuration, path: str = "/p/a.py") -> set[str]:
    chosen = select_rules(settings, configuration, RULES).rules_for(Path(path))
    return {rule.code for rule in chosen}


def test_every_rule_is_on_by_default_but_those_that_are_opt_in() -> None:
    opt_in = {rule.code for rule in RULES if rule.opt_in}
    on = _enabled(Settings(()), Configuration(None, Path("/p")))

    assert "DEV304" in opt_in
    assert on == {rule.code for rule in RULES} - opt_in


@pytest.mark.parametrize("selector", ["ALL", "DEV3", "DEV304", "load-without-map-location"])
def test_an_opt_in_rule_is_on_where_a_selector_covers_it(selector: str) -> None:
    plain = Configuration(None, Path("/p"))
    assert "DEV304" in _enabled(Settings((), select=(selector,)), plain)
    assert {"DEV101", "DEV304"} <= _enabled(Settings((), extend_select=(selector,)), plain)
    assert "DEV304" in _enabled(Settings(()), Configuration(None, Path("/p"), extend_select=(selector,)))
    assert "DEV304" not in _enabled(Settings((), select=(selector,), ignore=(selector,)), plain)


@pytest.mark.parametrize(
    ("configuration", "settings", "expected"),
    [
        ({"select": ("DEV101",)}, {}, {"DEV101"}),
        ({"select": ("DEV101",)}, {"extend_select": ("DEV203",)}, {"DEV101", "DEV203"}),
        ({"select": ("DEV101", "DEV203"), "ignore": ("DEV2",)}, {}, {"DEV101", "DEV203"}),
        ({"select": ("DEV101", "DEV2"), "ignore": ("DEV2",)}, {}, {"DEV101"}),
        ({"select": ("DEV101", "DEV203")}, {"ignore": ("DEV2",)}, {"DEV101"}),
        ({"ignore": ("ALL",)}, {"select": ("DEV101",)}, {"DEV101"}),
        ({"ignore": ("ALL",), "extend_select": ("DEV101",)}, {}, {"DEV101"}),
        ({"select": ("ALL",)}, {"select": ()}, set()),
    ],
)
def test_the_command_line_is_applied_after_the_file_and_the_closest_selector_wins(
    configuration: dict[str, tuple[str, ...]], settings: dict[str, tuple[str, ...]], expected: set[str]
) -> None:
    table = Configuration(
        None,
        Path("/p"),
        select=configuration.get("select"),
        ignore=configuration.get("ignore", ()),
        extend_select=configuration.get("extend_select", ()),
    )
    line = Settings(
        (),
        select=settings.get("select"),
        ignore=settings.get("ignore", ()),
        extend_select=settings.get("extend_select", ()),
    )
    assert _enabled(line, table) == expected


def test_per_file_ignores_count_from_the_folder_of_the_file() -> None:
    table = Configuration(None, Path("/p"), select=("DEV1", "DEV203"), per_file_ignores=(("/scripts/*.py", ("DEV1",)),))
    every = {rule.code for rule in RULES if rule.code.startswith("DEV1")} | {"DEV203"}
    assert _enabled(Settings(()), table, "/p/scripts/a.py") == {"DEV203"}
    assert _enabled(Settings(()), table, "/p/lib/scripts/a.py") == every
    assert _enabled(Settings(()), table, "/elsewhere/scripts/a.py") == every
