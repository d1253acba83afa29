"""The documentation site is built without a warning, and each of its links leads somewhere."""

from __future__ import annotations

import importlib.util
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from devlint.registry import load_rules

from tests.browser import document_after_scripts
from tests.conftest import cannot_run
from tests.pages import PAGES, name_of

pytest.importorskip("torch")

from devlint_guard import codes

from tests.pages import site

ROOT = "http://site/"


class _Page(HTMLParser):
    """The links and anchors of a page, and the servers that it asks for anything."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.servers: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.links += [given[name] for name in ("href", "src") if name in given]
        fetched = given.get("src", "") if tag in ("script", "img", "iframe") else ""
        fetched = fetched or (given.get("href", "") if tag == "link" and given.get("rel") == "stylesheet" else "")
        self.servers |= {urlsplit(fetched).netloc} - {""}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("mkdocs") is None:
        cannot_run("mkdocs is not installed")
    return site.build(tmp_path_factory.mktemp("build"))


@pytest.fixture(scope="module")
def pages(built: Path) -> dict[str, _Page]:
    """The pages of the site by their addresses."""
    files = [file for file in built.rglob("*.html") if file.name != "404.html"]
    return {
        urljoin(ROOT, file.relative_to(built).as_posix().removesuffix("index.html")): _Page(
            file.read_text(encoding="utf-8")
        )
        for file in files
    }


def test_every_page_rule_and_code_is_there(pages: dict[str, _Page]) -> None:
    expected = {rule.code for rule in load_rules()} | set(codes.TEXTS)
    assert {f"{ROOT}rules/{code}/" for code in expected} <= set(pages)
    assert len(pages) == len(PAGES) + len(expected)


def test_no_link_is_broken(built: Path, pages: dict[str, _Page]) -> None:
    broken = [
        (address, link)
        for address, page in pages.items()
        for link in page.links
        if not _leads(address, link, built, pages)
    ]
    assert broken == []


def _leads(address: str, link: str, built: Path, pages: dict[str, _Page]) -> bool:
    if urlsplit(link).scheme in ("mailto", "data"):
        return True
    target, _, fragment = urljoin(address, link).partition("#")
    if not target.startswith(ROOT):
        return True
    if target not in pages:
        return (built / unquote(target.removeprefix(ROOT))).is_file()
    return fragment in ("", "__skip") or unquote(fragment) in pages[target].anchors


def test_a_page_asks_no_other_server_for_anything(pages: dict[str, _Page]) -> None:
    assert set().union(*(page.servers for page in pages.values())) == set()


def test_every_page_is_in_the_navigation() -> None:
    named = {name for names in site.NAVIGATION.values() for name in names} | {"README.md", site.RULES}
    assert named == {name_of(page) for page in PAGES}


def test_a_browser_shows_a_rule_with_its_program(built: Path, tmp_path: Path) -> None:
    shown = document_after_scripts(built / "rules" / "DEV101" / "index.html", tmp_path)
    assert '<h1 id="dev101-mixed-device-operands">' in shown
    assert shown.count('<div class="highlight">') == 2
