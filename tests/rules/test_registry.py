"""Rules are found by walking packages, and a rule that breaks its contract is refused with file and line."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from devlint import registry
from devlint.diagnostics import Severity
from devlint.errors import ConfigError, RuleError
from devlint.facts import FileFacts
from devlint.registry import candidates, find, load_rules, packages_of_rules

Write = Callable[..., str]

DOCUMENTED = '''"""sample-rule: a sample."""

from devlint.diagnostics import Severity
from devlint.rule import Rule


class SampleRule(Rule):
    """
    ## What it does
    Reports samples. It does so gladly.

    ## Why is this bad
    It is not.

    ## Example
        pass

    ## Use instead
        pass

    ## Fix safety
    Safe.

    ## Known limits
    None.

    ## PyTorch says
    Nothing.
    """

    code = "TST101"
    severity = Severity.ERROR
    since = "1.0"
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a package of the given files and returns its name; forgets all such packages afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def write(name: str = "sample_rules", **files: str) -> str:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").write_text('"""Rules."""\n')
        for stem, text in files.items():
            (folder / f"{stem}.py").write_text(text)
        importlib.invalidate_caches()
        return name

    yield write
    for name in set(sys.modules) - before:
        if name.partition(".")[0].startswith("sample_"):
            del sys.modules[name]


def test_builtin_rules_are_sorted_by_code() -> None:
    codes = [rule.code for rule in load_rules()]

    assert codes == sorted(codes)
    assert {"DEV101", "DEV102", "DEV302", "DEV401", "DEV901", "DEV903"} <= set(codes)


def test_severities_follow_the_code_families() -> None:
    errors = {rule.code for rule in load_rules() if rule.severity is Severity.ERROR}

    others = {"DEV203", "DEV303", "DEV505", "DEV901", "DEV903"}
    assert errors == {rule.code for rule in load_rules() if rule.code.startswith(("DEV1", "DEV4"))} | others


def test_package_is_walked(package: Write) -> None:
    (rule,) = load_rules([package(sample_rule=DOCUMENTED, _private="class Helper: pass\n")])

    assert (rule.code, rule.name, rule.since) == ("TST101", "sample-rule", "1.0")
    assert rule.summary() == "Reports samples."


def test_private_files_are_not_imported(package: Write) -> None:
    assert len(load_rules([package(sample_rule=DOCUMENTED, _broken="1 / 0\n")])) == 1


def test_imported_rules_are_not_found_twice(package: Write) -> None:
    again = "from sample_rules.sample_rule import SampleRule\n"

    assert len(load_rules([package(sample_rule=DOCUMENTED, other=again)])) == 1


def test_entry_points_name_the_packages(package: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = package(sample_rule=DOCUMENTED)
    folder = tmp_path / "sample-1.0.dist-info"
    folder.mkdir()
    text = f"[console_scripts]\nx = y:z\n\n# ours\n[{registry.GROUP}]\n# one = two\nsample={name}\n[other]\na = b\n"
    (folder / "entry_points.txt").write_text(text)

    assert name in packages_of_rules() == _installed()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert [rule.code for rule in load_rules()] == ["TST101"]


def test_entry_points_are_those_that_python_finds() -> None:
    assert packages_of_rules() == (_installed() or registry.DEFAULT_PACKAGES)


def _installed() -> tuple[str, ...]:
    return tuple(sorted({entry.value for entry in importlib.metadata.entry_points(group=registry.GROUP)}))


def test_without_entry_points_the_builtin_package_is_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [path for path in sys.path if not Path(path, "libcst").exists()])
    assert packages_of_rules() == registry.DEFAULT_PACKAGES


BROKEN = {
    "code": (DOCUMENTED.replace('"TST101"', '"T1"'), "code 'T1' is not of the form DEV101"),
    "no code": (DOCUMENTED.replace('code = "TST101"', "pass"), "code '' is not of the form DEV101"),
    "severity": (DOCUMENTED.replace("Severity.ERROR", '"error"'), "severity 'error' is not a Severity"),
    "since": (DOCUMENTED.replace('since = "1.0"', "pass"), "`since` is missing"),
    "class name": (
        DOCUMENTED.replace("class SampleRule", "class OtherRule"),
        "is called other-rule, its file is called sample_rule.py",
    ),
    "visitors": (
        DOCUMENTED.replace("import Rule", "import OperationRule as Rule") + "\n    def visit_Call(self, node): ...\n",
        "is an OperationRule, and devlint does not call visit_Call",
    ),
    "no wants": (
        DOCUMENTED.replace("import Rule", "import OperationRule as Rule"),
        "is an OperationRule with no `wants`",
    ),
}


@pytest.mark.parametrize(("text", "reason"), BROKEN.values(), ids=BROKEN)
def test_broken_rule_is_refused_with_its_place(package: Write, text: str, reason: str) -> None:
    with pytest.raises(RuleError) as caught:
        load_rules([package(sample_rule=text)])

    assert reason in caught.value.message
    assert caught.value.path is not None
    assert caught.value.path.endswith("sample_rule.py")
    assert caught.value.line == 7


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        (DOCUMENTED, ""),
        (DOCUMENTED.replace("## Known limits", "## Limits"), "lacks the heading `## Known limits`"),
        (
            DOCUMENTED.replace("Example", "?").replace("Use instead", "Example").replace("?", "Use instead"),
            "has the headings `## What it does`, `## Why is this bad`, `## Use instead`, `## Example`",
        ),
        (DOCUMENTED.replace("    It is not.\n", ""), "has no text under the heading `## Why is this bad`"),
        (DOCUMENTED.replace('    """\n    ##', '    x = """\n    ##'), "lacks the headings `## What it does`, "),
    ],
)
def test_incomplete_documentation_is_remarked_on_and_refuses_no_rule(package: Write, text: str, remark: str) -> None:
    (rule,) = load_rules([package(sample_rule=text)])
    assert remark in rule.declaration().undocumented
    assert bool(remark) == bool(rule.declaration().undocumented)
    assert rule.text().code == "TST101"


@pytest.mark.parametrize(
    ("addition", "everywhere"),
    [
        ("", False),
        ("\n    def visit_Call(self, node): ...\n", True),
        ('\n    mentions = "x"\n\n    def visit_Call(self, node): ...\n', False),
    ],
)
def test_a_rule_with_visitors_alone_visits_every_file(package: Write, addition: str, everywhere: bool) -> None:
    (rule,) = load_rules([package(sample_rule=DOCUMENTED + addition)])
    assert rule.declaration().concerns("import torch\n", FileFacts()) is everywhere


def test_codes_are_unique(package: Write) -> None:
    second = DOCUMENTED.replace("SampleRule", "SecondRule")
    message = r"SecondRule: sample_rules\.sample_rule\.SampleRule has the code TST101 too"
    with pytest.raises(RuleError, match=message) as caught:
        load_rules([package(sample_rule=DOCUMENTED, second_rule=second)])
    assert str(caught.value.path).endswith("second_rule.py")


def test_names_are_unique_across_packages(package: Write) -> None:
    first = package(sample_rule=DOCUMENTED)
    second = package("sample_more", sample_rule=DOCUMENTED.replace("TST101", "TST102"))

    with pytest.raises(RuleError, match=r"sample_rules\.sample_rule\.SampleRule has the name sample-rule too"):
        load_rules([first, second])


def test_a_former_name_is_taken_as_well(package: Write) -> None:
    second = DOCUMENTED.replace("SampleRule", "SecondRule").replace("TST101", "TST102")
    second += '    former_names = ("first-rule", "sample-rule")\n'

    with pytest.raises(RuleError, match=r"SampleRule has the name sample-rule too"):
        load_rules([package(sample_rule=DOCUMENTED, second_rule=second)])


def test_a_name_is_no_former_name(package: Write) -> None:
    with pytest.raises(RuleError, match="sample-rule is its name, and no former one"):
        load_rules([package(sample_rule=DOCUMENTED + '    former_names = ("sample-rule",)\n')])


def test_package_that_cannot_be_imported_is_named(package: Write) -> None:
    with pytest.raises(RuleError, match=r"cannot import sample_rules\.broken: ZeroDivisionError"):
        load_rules([package(broken="1 / 0\n")])
    with pytest.raises(RuleError, match="cannot import sample_absent: ModuleNotFoundError"):
        load_rules(["sample_absent"])


@pytest.mark.parametrize("text", ["DEV101", "dev101", "mixed-device-operands", " Mixed-Device-Operands "])
def test_rule_is_found_by_code_and_name(text: str) -> None:
    assert find(text, load_rules()).code == "DEV101"


def test_unknown_rule_brings_an_offer() -> None:
    with pytest.raises(ConfigError, match="unknown rule 'mixed-devices-operand'; did you mean mixed-device-operands"):
        find("mixed-devices-operand", load_rules())
    with pytest.raises(ConfigError, match=r"unknown rule 'zzz'$"):
        find("zzz", load_rules())


def test_offers_are_codes_or_names_as_they_are_written() -> None:
    assert "DEV101" in candidates("dev1O1", load_rules())
    assert candidates("unguarded-cude", load_rules())[0] == "unguarded-cuda"
    assert candidates("?", load_rules()) == ()
