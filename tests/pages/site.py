"""The documentation site: `python -m tests.pages.site` gathers all pages into `build/` and builds it there.

Pages keep their paths, so that their links hold. Each rule, and each code of the guard, has a page of its own below
`rules/`, made from its documentation. A link to a file that is no page leads to the repository.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from devlint.registry import load_rules
from devlint_guard import codes

from tests.conftest import REPOSITORY
from tests.pages import PAGES, name_of, project_url, read, repository_url
from tests.pages.links import FENCES, LINK

BUILD = REPOSITORY / "build"

NAVIGATION = {
    "Use": ("linter/usage.md", "linter/configuration.md", "linter/formats.md", "linter/editor.md"),
    "Guard": ("runtime_guard/guard.md", "runtime_guard/rehearsal.md", "runtime_guard/macs-and-intel-gpus.md"),
    "Develop": (
        "CONTRIBUTING.md",
        "rules/write-a-rule.md",
        "linter/README.md",
        "runtime_guard/README.md",
        "linter/devlint/torchlib/README.md",
        "tests/README.md",
    ),
    "Project": ("SECURITY.md", "CHANGELOG.md"),
}
"""The pages of each section, besides the rules."""

RULES = "rules/README.md"


def rule_pages() -> dict[str, str]:
    """Return the page of each rule and of each code of the guard, by code."""
    pages = {}
    for rule in load_rules():
        head = (
            f"# {rule.code}: {rule.name}\n\n{_sentence(rule.title())} Severity: {rule.standing()}, since {rule.since}."
            + "".join(f" Its former name is `{name}`." for name in rule.former_names)
        )
        how = (
            f'Turn the rule off with `ignore = ["{rule.code}"]`, or on one line with `# devlint: ignore[{rule.code}]`.'
        )
        pages[rule.code] = f"{head}\n\n{_fenced(rule.documentation_for_users())}\n\n---\n\n{how}\n"
    for code, text in codes.TEXTS.items():
        who = "Only [the guard](../runtime_guard/guard.md) reports this."
        pages[code] = f"# {code}: {codes.NAMES[code]}\n\n{who}\n\n{_fenced(text)}\n"
    return dict(sorted(pages.items()))


def _sentence(title: str) -> str:
    return f"{title[:1].upper()}{title[1:]}."


def _fenced(text: str) -> str:
    """Return documentation with its indented programs in fences, so that the site colours them."""
    parts = re.split(r"^(## .*)$", text.strip(), flags=re.MULTILINE)
    return "\n\n".join(_program(part.strip("\n")) for part in parts if part.strip())


def _program(part: str) -> str:
    lines = part.split("\n")
    if not all(line.startswith("    ") or not line.strip() for line in lines):
        return part
    return "```python\n" + "\n".join(line[4:] for line in lines) + "\n```"


def gather(target: Path) -> None:
    """Write all pages, the pictures in them and the pages of the rules to an empty folder."""
    shutil.rmtree(target, ignore_errors=True)
    for page in PAGES:
        text = _with_links(page, read(page))
        if name_of(page) == RULES:
            text = re.sub(r"^\| (DEV\d{3}) \|", r"| [\1](\1.md) |", text, flags=re.MULTILINE)
        _write(target / ("index.md" if name_of(page) == "README.md" else name_of(page)), text)
    for code, text in rule_pages().items():
        _write(target / "rules" / f"{code}.md", text)
    for picture in _pictures():
        _write(target / picture, (REPOSITORY / picture).read_text(encoding="utf-8"))


def _pictures() -> Iterator[str]:
    for page in PAGES:
        for link in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", read(page)):
            yield (page.parent / link).resolve().relative_to(REPOSITORY).as_posix()


def _with_links(page: Path, text: str) -> str:
    """Return a page whose links to files that are no pages lead to the repository."""
    pages = {name_of(one) for one in PAGES}

    def changed(link: re.Match[str]) -> str:
        name, hash_, fragment = link[1].partition("#")
        if not name or re.match(r"https?://", name):
            return link[0]
        target = (page.parent / name).resolve().relative_to(REPOSITORY).as_posix()
        if target == "README.md":
            up = "../" * (len(Path(name_of(page)).parts) - 1)
            return link[0].replace(link[1], f"{up}index.md{hash_}{fragment}")
        if target in pages or target in set(_pictures()):
            return link[0]
        kind = "tree" if (REPOSITORY / target).is_dir() else "blob"
        return link[0].replace(f"({link[1]})", f"({repository_url()}/{kind}/main/{target})")

    parts = FENCES.split(text)
    fences = FENCES.findall(text)
    return "".join(LINK.sub(changed, part) + fence for part, fence in zip(parts, [*fences, ""], strict=True))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def configuration(pages: Path, site: Path) -> str:
    """Return the configuration of mkdocs with the navigation; JSON is YAML too."""
    rules = [RULES, *(f"rules/{code}.md" for code in rule_pages())]
    sections = [{title: list(names)} for title, names in NAVIGATION.items()]
    navigation = [{"devlint": "index.md"}, sections[0], {"Rules": rules}, *sections[1:]]
    return json.dumps(
        {
            "INHERIT": str(REPOSITORY / "mkdocs.yml"),
            "docs_dir": str(pages),
            "site_dir": str(site),
            "site_url": f"{project_url('Documentation')}/",
            "repo_url": repository_url(),
            "nav": navigation,
        },
        indent=1,
    )


def build(folder: Path) -> Path:
    """Gather the pages below a folder, build the site there strictly, and return its folder.

    Raises:
        CalledProcessError: mkdocs warns of something, or fails.
    """
    pages, site, file = folder / "pages", folder / "site", folder / "mkdocs.yml"
    gather(pages)
    _write(file, configuration(pages, site))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(file)]
    # Not `--quiet`, for mkdocs counts only the warnings that it prints.
    subprocess.run(command, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True)
    return site


if __name__ == "__main__":
    print(build(BUILD))
