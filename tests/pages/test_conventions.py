"""Files that forges and indexes read agree with `pyproject.toml` and have the form that their readers want."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from devlint import __version__
from devlint.cli import devlint

from tests.conftest import REPOSITORY, read_toml
from tests.pages import project_url, repository_url

PROJECT = read_toml(REPOSITORY / "pyproject.toml")["project"]
TEMPLATES = sorted((REPOSITORY / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def test_the_citation_is_that_of_this_version() -> None:
    text = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^([a-z-]+): (.+)$", text, flags=re.MULTILINE))
    assert (fields["version"], fields["license"], fields["title"]) == (__version__, PROJECT["license"], "devlint")
    assert (fields["repository-code"], fields["url"]) == (repository_url(), project_url("Documentation"))
    assert fields["abstract"] == PROJECT["description"]
    assert re.findall(r"^  - name: (.+)$", text, flags=re.MULTILINE) == [one["name"] for one in PROJECT["authors"]]


def test_all_addresses_of_the_project_begin_with_that_of_the_repository() -> None:
    assert {"Repository", "Documentation", "Changelog", "Issues"} <= set(PROJECT["urls"])
    assert all(url.startswith(repository_url()) for url in PROJECT["urls"].values())


def test_there_are_templates_for_false_alarms_and_missed_mistakes() -> None:
    assert {"false_alarm", "missed_mistake", "problem"} <= {file.stem for file in TEMPLATES}


@pytest.mark.parametrize("file", [file for file in TEMPLATES if file.stem != "config"], ids=lambda file: file.stem)
def test_a_template_asks_for_versions_and_names_commands_that_exist(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    yaml = pytest.importorskip("yaml")
    form = yaml.safe_load(text)
    assert {"name", "description", "body"} <= set(form)
    assert {part["id"] for part in form["body"]} >= {"version"}
    assert all(part["attributes"]["label"] for part in form["body"])
    for words in re.findall(r"`devlint ([a-z-]+)", text):
        assert words in devlint.commands or words.startswith("--")
