"""The addresses of rule pages, in reports and editors, come from the metadata of the package."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint import addresses
from devlint.cli import devlint
from devlint.registry import load_rules

BAD = "import torch\n\nx = torch.ones(3)\nx.to('cuda:0')\nprint(x + torch.ones(3, device='cuda:0'))\n"

Publish = Callable[[str], None]


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publish]:
    """Lets the metadata of the installed package have another address."""

    def publish(address: str) -> None:
        found = Message()
        found["Project-URL"] = "Repository, https://forge.test/devlint"
        found["Project-URL"] = f"Documentation, {address}"
        monkeypatch.setattr(metadata, "metadata", lambda name: found)
        addresses.documentation.cache_clear()

    yield publish
    addresses.documentation.cache_clear()


def _rules_in_sarif(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, object]]:
    (folder / "a.py").write_text(BAD)
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(devlint, ["check", "--output-format", "sarif", "--isolated", "--no-cache"])
    (run,) = json.loads(result.stdout)["runs"]
    assert run["automationDetails"] == {"id": "devlint/"}
    assert {one["rank"] for one in run["results"]} <= {90.0, 60.0, 30.0}
    return {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}


def test_a_published_rule_has_its_page_in_sarif(
    published: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published("https://docs.test/devlint/")
    rules = _rules_in_sarif(tmp_path, monkeypatch)
    assert {code: rule["helpUri"] for code, rule in rules.items()} == {
        "DEV101": "https://docs.test/devlint/rules/DEV101/",
        "DEV203": "https://docs.test/devlint/rules/DEV203/",
        "DEV302": "https://docs.test/devlint/rules/DEV302/",
    }


def test_a_rule_in_sarif_is_described_for_those_who_sort_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = _rules_in_sarif(tmp_path, monkeypatch)["DEV302"]
    assert rule["properties"] == {
        "tags": ["pytorch", "device", "portability"],
        "precision": "high",
        "problem.severity": "warning",
    }
    whole = {one.code: one for one in load_rules()}["DEV302"]
    assert rule["fullDescription"] == {"text": " ".join(whole.sections()["What it does"].split())}


@pytest.mark.parametrize("address", ["https://example.org/devlint/docs", ""])
def test_an_address_that_nobody_has_set_is_none(published: Publish, address: str) -> None:
    published(address or "https://example.org")
    assert {rule.page() for rule in load_rules()} == {None}


def test_without_an_installation_there_is_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Message:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "metadata", missing)
    addresses.documentation.cache_clear()
    assert addresses.page_of("DEV101") is None
    addresses.documentation.cache_clear()
