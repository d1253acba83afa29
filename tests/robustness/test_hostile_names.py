"""Every door that names and lines of a hostile repository leave by: terminal, annotation, diff, page, XML, JSON."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from devlint import flake8
from devlint.cli import devlint
from devlint.quoting import printable
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import REPOSITORY
from tests.robustness.commands import MIXED

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows refuses such names")

TEXT = (
    "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\u2066 \u2028 ]]> <script>alert(1)</script> '\"&amp; {0} [a](b) ::error::x"
    " ##[error]y"
)
"""What a source line, a string or a message may contain."""

NAMES = (
    "\n::error::injected",
    "::warning::injected",
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m\u202e\u2066",
    os.fsdecode(b"\xff\xfe"),
    "<script>alert(1)<script>",
    "]]>'\"&{0}](x)%0A",
    "a,b:c\r::error file=x",
    "##[add-mask]x",
)
"""Files without their endings."""

PROGRAM = f"""\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({{{TEXT.replace(chr(0x2028), " ")!r}: nn.Linear(2, 2)}})  # {TEXT}
        self.kept = [nn.Linear(2, 2)]  # \x1b[2J


net = Net().to("cuda:0")
x = torch.ones(3, device="cuda:0") + torch.ones(3)  # {TEXT}
y = torch.ones(3).to("cud\x1b[2J\u202e\x9b")
z = f"{{torch.ones(3)}}" + \x22\x1b[2J\u202e\x22
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    for number, name in enumerate(NAMES):
        (folder / f"{name}.py").write_text(PROGRAM if number < 2 else MIXED, encoding="utf-8")
    for name in (NAMES[0], NAMES[2], NAMES[4]):
        (folder / name).mkdir()
        (folder / name / f"{name}_broken.py").write_text(f"x = (  # {TEXT}\n", encoding="utf-8")
        (folder / name / f"{name}_binary.py").write_bytes(b"\xff\x00\x1b[2J")
        (folder / name / f"{name}_deep.ipynb").write_text("[" * 100_000)
    (folder / "pyproject.toml").write_text("")
    return folder


@pytest.fixture(autouse=True)
def _surroundings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEVLINT_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def repository(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hostile repository, to be read."""
    monkeypatch.chdir(hostile)
    return hostile


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, to be written to."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    """Runs a command; an exception that leaves it is a failure."""
    result = CliRunner().invoke(devlint, arguments, input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "devlint failed" not in result.stderr
    return result


def acts(text: str, *, colour: bool = False) -> set[str]:
    """The characters of a text that do something to a terminal, a line or a reader; tabs and line feeds are fine."""
    if colour:
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return {
        one
        for one in text
        if unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(one) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    } - {"\n", "\t"}


def has_no_command(text: str) -> bool:
    """Whether no line is a command of GitHub Actions, which looks at lines without the blanks they begin with."""
    return not any(line.lstrip().startswith("::") or "##[" in line for line in text.splitlines())


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("check",), 2),
        (("check", "--color", "always"), 2),
        (("check", "--output-format", "concise"), 2),
        (("check", "--output-format", "concise", "--color", "always", "-v"), 2),
        (("check", "--statistics"), 2),
        (("check", "--select", "ALL", "--output-format", "concise"), 2),
        (("show",), 2),
        (("show", "--color", "always"), 2),
        (("facts", f"{NAMES[2]}.py"), 0),
        (("facts", f"{NAMES[0]}.py:12"), 0),
        (("facts", f"{NAMES[2]}/{NAMES[2]}_broken.py"), 2),
        (("check", f"{NAMES[0]}/absent\x1b[2J.py"), 2),
        (("check", "--config", f"{NAMES[2]}.toml"), 2),
        (("check", "--config", f"{NAMES[0]}.py"), 2),
        (("check", "--baseline", f"{NAMES[0]}.py"), 2),
        (("check", "--select", "\x1b[2J\u202e"), 2),
        (("explain", "\x1b[2J"), 2),
        (("\x1b[2J\u202e",), 2),
        (("check", "--\x1b[2J\u202e"), 2),
    ],
    ids=lambda value: ascii(" ".join(value)) if isinstance(value, tuple) else str(value),
)
def test_nothing_that_acts_reaches_a_terminal(repository: Path, arguments: tuple[str, ...], code: int) -> None:
    result = run(*arguments)
    for text in (result.stdout_bytes.decode(), result.stderr_bytes.decode()):
        assert acts(text, colour="always" in arguments) == set()
        assert has_no_command(text)
    assert "\x1b[2J" not in result.output
    assert result.exit_code == code


def test_colours_are_those_of_devlint_alone(folder: Path) -> None:
    (folder / "red.py").write_text(MIXED.replace("\n", "  # \x1b[8mhidden\x1b[31mred\n"))
    for command in ("check", "show"):
        shown = run(command, "red.py", "--color", "always").stdout
        assert "\x1b[8m" not in shown
        assert r"\x1b[8mhidden\x1b[31mred" in shown


@pytest.mark.parametrize("name", ["json", "jsonl", "sarif", "gitlab"])
def test_json_is_strict(repository: Path, name: str) -> None:
    text = run("check", "--output-format", name).stdout_bytes.decode("ascii")
    assert has_no_command(text)
    for document in text.splitlines() if name == "jsonl" else (text,):
        assert json.dumps(json.loads(document), ensure_ascii=False).encode("utf-8")


def test_each_line_is_one_annotation(repository: Path) -> None:
    result = run("check", "--output-format", "github")
    assert acts(result.stdout) == set()
    lines = result.stdout.splitlines()
    assert len(lines) > len(NAMES)
    assert all(re.fullmatch(r"::(error|warning) file=[^,:]*,line=\d+,[^:]*::[^\r\n]*", line) for line in lines)
    assert has_no_command(result.stderr)
    assert "##[" not in result.stdout


def test_junit_is_xml(repository: Path) -> None:
    text = run("check", "--output-format", "junit").stdout
    assert acts(text) == set()
    assert has_no_command(text)
    root = ElementTree.fromstring(text)
    files = {case.get("file") for case in root.iter("testcase")} - {None}
    assert f"{printable(NAMES[2])}.py" in files
    assert {element.tag for element in root.iter()} == {"testsuites", "testsuite", "testcase", "failure", "error"}


class _Elements(HTMLParser):
    """What a page consists of."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.scripts: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        self._inside = tag == "script"
        if self._inside:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts[-1] += data


def test_a_page_has_the_markup_of_devlint_alone(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(MIXED)
    found = []
    for path in (str(tmp_path / "plain.py"), "."):
        run("show", "--html", str(tmp_path / "page.html"), path)
        text = (tmp_path / "page.html").read_bytes().decode("utf-8")
        assert acts(text) == set()
        page = _Elements()
        page.feed(text)
        found.append(page)
    plain, hostile = found
    assert hostile.found - plain.found <= {*"nav h2 h3 ul li code small p b section a div span".split()}
    assert len(hostile.scripts) == 2
    assert "alert(1)" not in hostile.scripts[1]
    json.loads(hostile.scripts[0])


def test_a_page_is_written_whole_or_not_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "plain.py").write_text(MIXED)
    (folder / "page.html").write_text("before")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run("show", "--html", "page.html", ".")
    assert result.exit_code == 2
    assert "error: page.html: cannot be written: No space left on device" in result.stderr
    assert (folder / "page.html").read_text() == "before"


def test_standard_output_is_the_bytes_of_the_file_where_it_is_no_terminal(folder: Path) -> None:
    text = MIXED.encode() + b"# \x1b[2J \xe2\x80\xae \xff\n"
    declared = b"# coding: latin-1\n" + text
    fixed = run("check", "--fix", "-q", "-", stdin=declared).stdout_bytes
    assert fixed.endswith(b"# \x1b[2J \xe2\x80\xae \xff\n")
    assert fixed != declared
    (folder / "plain.py").write_bytes(declared)
    diff = run("check", "--diff", "-q", "plain.py").stdout_bytes
    assert b'-x = torch.ones(3, device="cuda:0") + torch.ones(3)\n' in diff
    assert b" # \x1b[2J \xe2\x80\xae \xff\n" in diff


def test_a_diff_on_a_terminal_cannot_steer_it(folder: Path) -> None:
    import pty

    (folder / "plain.py").write_bytes(b"# coding: latin-1\n" + MIXED.encode() + b"# \x1b[2J \xff\n")
    master, slave = pty.openpty()
    child = os.fork()
    if not child:  # pragma: no cover
        os.close(master)
        for descriptor in (0, 1, 2):
            os.dup2(slave, descriptor)
        start = "import sys; del sys.path[0]; from devlint.cli import main; main()"
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        os.execve(sys.executable, [sys.executable, "-c", start, "check", "--diff", "-q", "plain.py"], environ)
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(master)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert rb" # \x1b[2J \xff" in shown
    assert b"\x1b" not in shown


def test_a_baseline_of_a_hostile_repository_can_be_read_again(folder: Path) -> None:
    for name in NAMES:
        (folder / f"{name}.py").write_text(MIXED)
    for arguments in (("baseline",), ("check", "--baseline", "devlint-baseline.json"), ("baseline", "--prune")):
        result = run(*arguments)
        assert acts(result.stdout) | acts(result.stderr) == set()
        assert result.exit_code == 0
    assert len(json.loads((folder / "devlint-baseline.json").read_bytes())["entries"]) == 2 * len(NAMES)


def test_flake8_gets_messages_that_can_only_be_read(repository: Path) -> None:
    for name in (f"{NAMES[2]}.py", f"{NAMES[2]}/{NAMES[2]}_binary.py"):
        texts = [text for _, _, text, _ in flake8.Plugin(ast.parse(""), name, ()).run()]
        assert texts
        assert acts("".join(texts)) == set()


def test_no_line_of_a_report_is_a_command(folder: Path) -> None:
    (folder / "::add-mask::x.py").write_text(MIXED.replace("3)", "3)[::1]") + 'x = """\n::error::y\n##[error]z"""\n')
    for command in ("check", "show"):
        shown = run(command, ".").stdout
        assert has_no_command(shown)
        assert "[::1]" in shown
    run("check", ".", "--output-format", "concise", "--output-file", "report.txt")
    assert (folder / "report.txt").read_text().startswith(r"\x3a:add-mask::x.py:2:")


@given(st.text())
def test_quoted_text_stands_on_one_line_and_can_be_encoded(text: str) -> None:
    shown = printable(text)
    assert acts(shown) == set()
    assert "\n" not in shown
    assert len(f"a{shown}b".splitlines()) == 1
    shown.encode()


IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff"
    "\u2800\U00016fe4\U0001d159]"
)
"""What has the property `Default_Ignorable_Code_Point` without being a format character; three more fillers."""


def test_what_acts_is_what_unicode_says() -> None:
    """Format characters, of which a later Unicode has more, among them."""
    wrong = [
        ascii(one)
        for one in map(chr, range(sys.maxunicode + 1))
        for category in [unicodedata.category(one)]
        if category != "Cn"
        and (printable(one) != one) is not (category in _ACTING or IGNORABLE.fullmatch(one) is not None)
    ]
    assert wrong == []
    assert printable("\u2065\ufff0\U000e0fff") == r"\u2065\ufff0\U000e0fff"
    assert printable("👨\u200d👩 ⚠\ufe0f ä") == r"👨\u200d👩 ⚠\ufe0f ä"


_ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}


DOORS = {"echo", "secho", "print", "print_exc", "print_exception", "write_text", "write_bytes", "writelines"}


@pytest.mark.parametrize("root", ["linter", "rules"])
def test_there_is_no_other_door(root: str) -> None:
    """What prints or writes files is in the modules that quote and that replace files as a whole."""
    found = {
        f"{path.relative_to(REPOSITORY)}:{node.lineno}"
        for path in (REPOSITORY / root).rglob("*.py")
        if path.parts[-2:] != ("cli", "terminal.py") and re.search(rf"\b({'|'.join(DOORS)})\(", path.read_text("utf-8"))
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call)
        and (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) in DOORS
    }
    assert found == set()
