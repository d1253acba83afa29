"""Notebooks are one program, whose places are those of cells."""

from __future__ import annotations

import json
import re
from itertools import count
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from devlint.cli import devlint
from devlint.errors import SourceError
from devlint.sources import program_of
from devlint.sources.rewriting import replaced
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.notebooks import notebook

TRAIN = notebook(
    ("markdown", "# Train"),
    "!pip install torch \\\n    numpy\n%matplotlib inline\nimport torch\n",
    "%time x = torch.ones(2)",
    "%%bash\necho 'hi",
    'torch.add?\ny = torch.ones(2, device="cuda:0")\nprint(x + y)\n',
    'x.to("cuda:0")  # devlint: ignore[DEV203] shown on purpose',
)


def _check(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    monkeypatch.chdir(folder)
    return CliRunner().invoke(devlint, ["check", "--isolated", "--no-cache", "--select", "DEV1,DEV2,DEV9", *arguments])


def test_state_is_carried_from_cell_to_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.ipynb").write_text(TRAIN, encoding="utf-8")
    result = _check(tmp_path, monkeypatch, ".", "--output-format", "concise")

    assert result.exit_code == 1
    assert result.stdout == (
        "train.ipynb:cell 5:3:7: DEV101 [mixed-device-operands] `x` is on cpu and `y` on cuda:0: "
        "`+` needs both on the same device\n"
    )


def test_the_report_shows_the_cells_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.ipynb").write_text(TRAIN, encoding="utf-8")
    text = _check(tmp_path, monkeypatch, ".").stdout

    assert " --> train.ipynb:cell 5:3:7\n  |\n3 | print(x + y)\n  |       ^   ^ cuda:0\n" in text
    assert " --> train.ipynb:cell 3:1:11\n  |\n1 | %time x = torch.ones(2)\n  |           ^^^^^^^^^^^^^\n" in text


def test_json_names_the_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.ipynb").write_text(TRAIN, encoding="utf-8")
    (found,) = json.loads(_check(tmp_path, monkeypatch, ".", "--output-format", "json").stdout)["diagnostics"]

    assert (found["file"], found["cell"], found["line"], found["column"]) == ("train.ipynb", 5, 3, 7)
    assert [(step["cell"], step["line"]) for step in found["related"]] == [(3, 1), (5, 2), (5, 2)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("github", ",title=DEV101 mixed-device-operands::train.ipynb:cell 5:3:7"),
        ("gitlab", "cell 5, line 3: `x` is on cpu"),
        ("sarif", '"text": "cell 5, line 3: `x` is on cpu'),
        ("junit", "train.ipynb:cell 5:3:7: DEV101"),
    ],
)
def test_formats_without_cells_say_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str) -> None:
    (tmp_path / "train.ipynb").write_text(TRAIN, encoding="utf-8")

    assert words in _check(tmp_path, monkeypatch, ".", "--output-format", name).stdout


@pytest.mark.parametrize("indent", [1, 4, None])
def test_formats_without_cells_have_the_line_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indent: int | None
) -> None:
    text = notebook("import torch\n\nx = torch.ones(2)", 'y = 1\nx.add(\n  x.cuda(0))\n"é"', indent=indent)
    (tmp_path / "a.ipynb").write_text(text, encoding="utf-8")
    rows = ["", *text.split("\n")]

    def printed(name: str) -> str:
        return _check(tmp_path, monkeypatch, "a.ipynb", "--select", "DEV101", "--output-format", name).stdout

    found = re.fullmatch(r"::error file=a.ipynb,line=(\d+),endLine=(\d+),title=DEV101 .*\n", printed("github"))
    assert found is not None
    line, end_line = int(found[1]), int(found[2])
    assert "x.add(" in rows[line]
    assert "x.cuda(0))" in rows[end_line]
    assert end_line - line == (indent is not None)

    (issue,) = json.loads(printed("gitlab"))
    assert issue["location"] == {"path": "a.ipynb", "lines": {"begin": line}}

    (run,) = json.loads(printed("sarif"))["runs"]
    (result,) = run["results"]
    regions = [each["physicalLocation"]["region"] for each in (*result["locations"], *result["relatedLocations"])]
    assert regions[0] == {"startLine": line, "endLine": end_line}
    assert all(re.search(r"torch\.ones|x\.cuda", rows[region["endLine"]]) for region in regions)

    (case,) = ElementTree.fromstring(printed("junit")).iter("testcase")
    assert case.attrib["line"] == str(line)


@given(
    st.lists(st.lists(st.text('ab\n\r\\"é', max_size=4), max_size=4), max_size=4),
    st.sampled_from([None, 0, 2]),
    st.booleans(),
)
def test_each_line_begins_in_its_row(sources: list[list[str]], indent: int | None, joined: bool) -> None:
    """The text has a mark at the beginning of each line, so that a row can be searched for it."""
    marks = count()
    marked: list[list[str]] = []
    for source in sources:
        whole, pieces = "".join(source), []
        begins = {0, *(end.end() for end in re.finditer(r"\r\n|\r|\n", whole))}
        at = 0
        for piece in source:
            written = "".join((f"<{next(marks)}>" if at + i in begins else "") + one for i, one in enumerate(piece))
            at += len(piece)
            pieces.append(written)
        if at in begins:
            pieces.append(f"<{next(marks)}>")
        marked.append(pieces)
    cells = [{"cell_type": "code", "source": "".join(each) if joined else each} for each in marked]
    text = json.dumps({"cells": cells}, indent=indent)
    rows = ["", *text.split("\n")]
    program = program_of(text, "a.ipynb")
    mark = 0
    for cell in program.cells:
        assert len(cell.rows) == cell.lines
        for row in cell.rows:
            assert f"<{mark}>" in rows[row]
            mark += 1
    assert mark == next(marks)


def test_lines_in_advice_are_those_of_the_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = notebook(
        "import torch",
        "\n\n\n\ndef f(x: torch.Tensor):\n    y = torch.arange(3)\n    return x.sum(0, keepdim=True) @ y\n",
        'f(torch.ones(3, device="cuda"))\n',
    )
    (tmp_path / "a.ipynb").write_text(text, encoding="utf-8")
    result = _check(tmp_path, monkeypatch, ".")

    assert "a.ipynb:cell 2:7:12" in result.stdout
    assert "on line 6 of cell 2" in result.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "a.ipynb:1: is no notebook"),
        ("[1]", "a.ipynb: is no notebook"),
        ('{"worksheets": []}', "a.ipynb: is a notebook in a format before 4"),
        ('{"cells": [3]}', "a.ipynb: is no notebook: cell 1 is no object"),
        ('{"cells": [{"cell_type": "code", "source": 3}]}', "the source of cell 1 is no text"),
    ],
)
def test_what_is_no_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, message: str) -> None:
    (tmp_path / "a.ipynb").write_text(content)
    result = _check(tmp_path, monkeypatch, "a.ipynb")

    assert result.exit_code == 2
    assert message in result.stderr


def test_a_broken_cell_leaves_the_others_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = tmp_path / "a.ipynb"
    cells = (
        "import torch\nnet = torch.nn.Linear(3, 3)\n",
        "x = 1\ndef f(:\n",
        "net.cuda()(torch.ones(3))\n",
        "    y = (",
    )
    book.write_text(notebook(*cells))
    arguments = ("a.ipynb", "--select", "DEV1", "--output-format", "concise")
    result = _check(tmp_path, monkeypatch, *arguments)

    assert result.exit_code == 2
    found = [line.partition(" [")[0] for line in result.stdout.splitlines()]
    assert found == ["a.ipynb:cell 2:2:7: DEV901", "a.ipynb:cell 3:1:1: DEV102", "a.ipynb:cell 4:1:9: DEV901"]

    fixed = _check(tmp_path, monkeypatch, *arguments, "--fix")
    assert "DEV102" not in fixed.stdout
    assert "def f(:" in book.read_text()


def test_a_baseline_holds_for_a_notebook_with_a_broken_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.ipynb").write_text(notebook("import torch\ntorch.ones(3).cuda() + torch.ones(3)\n", "def f(:\n"))
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(devlint, ["baseline", "a.ipynb", "--select", "DEV1"])
    options = ("--select", "DEV1", "--baseline", "devlint-baseline.json", "--output-format", "concise")
    result = _check(tmp_path, monkeypatch, "a.ipynb", *options)
    assert [line.partition(" [")[0] for line in result.stdout.splitlines()] == ["a.ipynb:cell 2:1:7: DEV901"]


def test_a_syntax_error_is_in_its_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.ipynb").write_text(notebook("import torch\n", "x = 1\ny = (\n"))
    result = _check(tmp_path, monkeypatch, "a.ipynb", "--output-format", "concise")

    assert result.exit_code == 2
    assert result.stdout.startswith("a.ipynb:cell 2:2:5: DEV901")


@pytest.mark.parametrize(
    "text", [notebook("x <- torch_ones(2)", language="R"), notebook(("markdown", "torch")), notebook(), notebook("")]
)
def test_without_python_there_is_nothing_to_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "a.ipynb").write_text(text)
    assert _check(tmp_path, monkeypatch, "a.ipynb").exit_code == 0


def test_standard_input_may_be_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["check", "-", "--isolated", "--stdin-filename", "n.ipynb", "--output-format", "concise"]
    result = CliRunner().invoke(devlint, [*arguments, "--select", "DEV101"], input=TRAIN.encode())

    assert result.stdout.startswith("n.ipynb:cell 5:3:7: DEV101")


def test_show_draws_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.ipynb").write_text(TRAIN, encoding="utf-8")
    text = CliRunner().invoke(devlint, ["show", "train.ipynb"]).stdout
    page = CliRunner().invoke(devlint, ["show", "train.ipynb", "--html", "-"]).stdout

    assert " 1  !pip install torch \\\n" in text
    assert "    # cell 5\n 1  torch.add?\n" in text
    assert '<h3 class="cell">cell 3</h3>' in page
    assert '"at":"cell 3, line 1"' in page


def test_fixes_are_written_into_the_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = notebook("import torch\n\nx = torch.ones(2)", ("markdown", "é"), "%time 1\nx.to('cuda')\nprint(x)  # é\n")
    (tmp_path / "a.ipynb").write_text(before, encoding="utf-8")
    found = _check(tmp_path, monkeypatch, "a.ipynb", "--output-format", "json")
    (fix,) = [one["fix"] for one in json.loads(found.stdout)["diagnostics"]]
    diff = _check(tmp_path, monkeypatch, "a.ipynb", "--diff", "--unsafe-fixes").stdout
    fixed = _check(tmp_path, monkeypatch, "a.ipynb", "--fix", "--unsafe-fixes")

    assert [(edit["cell"], edit["line"], edit["column"]) for edit in fix["edits"]] == [(3, 2, 1)]
    assert fixed.exit_code == 0, fixed.output
    after = (tmp_path / "a.ipynb").read_text(encoding="utf-8")
    assert after == before.replace("x.to('cuda')", "x = x.to('cuda')")
    changed = [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ["-    \"x.to('cuda')\\n\",", "+    \"x = x.to('cuda')\\n\","]


def test_places_are_those_of_the_program_whatever_the_form_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import torch\n\n\nx = torch.ones(2)\nx.to('cuda')"
    (tmp_path / "a.ipynb").write_text(notebook(code, indent=None), encoding="utf-8")
    assert _check(tmp_path, monkeypatch, "a.ipynb", "--fix", "--unsafe-fixes", "--select", "DEV203").exit_code == 0
    assert _sources((tmp_path / "a.ipynb").read_text(encoding="utf-8")) == [code.replace("x.to", "x = x.to")]


# --- writing back -------------------------------------------------------------------------------------------


def _sources(text: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(text)["cells"]]


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_only_lines_that_change_are_written(indent: int | None) -> None:
    text = notebook("a = 1\nb = 'é'\nc = 3", ("markdown", "# é"), "d = 4", indent=indent)
    after = replaced(text, {1: "a = 1\nb = 'ü'\nnew\nc = 3", 3: "d = 4\ne = 5"})

    assert _sources(after) == ["a = 1\nb = 'ü'\nnew\nc = 3", "# é", "d = 4\ne = 5"]
    assert after == notebook("a = 1\nb = 'ü'\nnew\nc = 3", ("markdown", "# é"), "d = 4\ne = 5", indent=indent)


def test_a_source_in_one_string_stays_in_one_and_escapes_stay_escapes() -> None:
    text = '{"cells": [{"source" : "a\\n\\u00e9" , "cell_type":"code"},\n\t{"cell_type": "code", "source": []}]}'
    after = replaced(text, {1: "a\nü", 2: "b\nc"})

    first, second = '"source" : "a\\n\\u00fc" , "cell_type":"code"', '"cell_type": "code", "source": ["b\\n", "c"]'
    assert after == f'{{"cells": [{{{first}}},\n\t{{{second}}}]}}'


def test_a_cell_that_nobody_formats_alike_keeps_its_form() -> None:
    text = '{"cells": [{"source": ["a\\n",   "b\\n",\n"b\\n", "c\\n" ,"" ], "cell_type": "code"}]}'

    assert replaced(text, {1: "a\nb\nb\nc\n"}) == text
    assert replaced(text, {1: "a\nb\nd\nc\n"}) == text.replace('\n"b', '\n"d')
    more = text.replace('"b\\n", "c', '"b\\n",   "new\\n", "c')
    assert replaced(text, {1: "a\nb\nb\nnew\nc\n"}) == more != text


SOURCES = st.lists(st.text(alphabet='ab\né"\\{}[],:☃', max_size=12), max_size=4)


@given(SOURCES, SOURCES, st.sampled_from([None, 1, 2]))
def test_what_is_written_is_read_again(before: list[str], after: list[str], indent: int | None) -> None:
    text = notebook(*before, indent=indent)
    wanted = dict(enumerate(after[: len(before)], start=1))

    assert _sources(replaced(text, wanted)) == [wanted.get(number, old) for number, old in enumerate(before, start=1)]
    assert replaced(text, {}) == text


def test_the_program_has_the_lines_of_all_cells() -> None:
    program = program_of(TRAIN, "train.ipynb")

    assert program.text.count("\n") == program.original.count("\n")
    assert [(cell.number, cell.first, cell.lines, cell.is_python) for cell in program.cells] == [
        (2, 1, 5, True),
        (3, 6, 1, True),
        (4, 7, 2, False),
        (5, 9, 4, True),
        (6, 13, 1, True),
    ]
    with pytest.raises(SourceError):
        program_of("", "train.ipynb")


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
@pytest.mark.parametrize("listed", [True, False])
def test_line_ends_in_cells_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, listed: bool) -> None:
    lines = ["import torch", "# \u00e9", "x = torch.ones(2)", "x.to('cuda')", "print(x)"]
    source = [line + end for line in lines] if listed else end.join(lines)
    other = ["a = 1\r", "b = 2\r\n", "c = 3"]
    cells = [{"cell_type": "code", "source": each} for each in (other, source)]
    before = json.dumps({"cells": cells}, indent=1).encode().replace(b"\n", b"\r\n")
    (tmp_path / "a.ipynb").write_bytes(before)
    assert _check(tmp_path, monkeypatch, "a.ipynb", "--fix", "--unsafe-fixes", "--select", "DEV203").exit_code == 0
    assert (tmp_path / "a.ipynb").read_bytes() == before.replace(b"x.to('cuda')", b"x = x.to('cuda')")


def test_lines_that_stay_are_spelled_as_they_were() -> None:
    text = r'{"cells": [{"source": "\u0061 = \"\/\ud83d\ude00\"\r\nb = 1\r\n\u0063"}, {"source": ["d\ne\n", "f\n"]}]}'
    after = replaced(text, {1: 'a = "/😀"\r\nb = 2\r\nc', 2: "d\nE\nf\n"})
    assert after == text.replace("b = 1", "b = 2").replace(r'"d\ne\n"', r'"d\nE\n"')


def test_half_a_surrogate_pair_stays_an_escape() -> None:
    text = '{"cells": [{"source": ["é = \'\\ud800\'\\n", "b"]}]}'
    assert replaced(text, {1: "é = '\ud800'\nc"}) == text.replace('"b"', '"c"')
    assert replaced(text, {1: "e = '\ud800'\nb"}) == text.replace("é", "e")


def test_of_two_lists_of_cells_the_one_that_is_read_is_written() -> None:
    text = '{"cells": [{"source": "a"}], "cells": [{"source": "b"}]}'
    assert replaced(text, {1: "c"}) == text.replace('"b"', '"c"')


ENDED = st.lists(st.tuples(st.text("aé\\", max_size=3), st.sampled_from(["\n", "\r", "\r\n", ""])), max_size=6)


@given(ENDED, st.data())
def test_strings_in_which_nothing_changes_stay_as_they_are(strings: list[tuple[str, str]], data: st.DataObject) -> None:
    listed = ["".join(each) for each in strings]
    literals = [json.dumps(each, ensure_ascii=data.draw(st.booleans())) for each in listed]
    text = f'{{"cells": [{{"source": [{" , ".join(literals)}]}}]}}'
    source = "".join(listed)
    assert replaced(text, {1: source}) == text
    at = data.draw(st.integers(0, len(source)))
    after = replaced(text, {1: source[:at] + "#" + source[at:]})
    (kept,) = json.loads(after)["cells"]
    assert "".join(kept["source"]) == source[:at] + "#" + source[at:]
    ends = [
        index + 1 for index in range(len(source)) if source[index] in "\r\n" and source[index : index + 2] != "\r\n"
    ]
    begin = max((end for end in ends if end <= at), default=0)
    until = min((end for end in ends if end > at), default=len(source))
    done = 0
    for string, literal in zip(listed, literals, strict=True):
        if string and (done + len(string) <= begin or done >= until):
            assert literal in after
        done += len(string)


def test_an_indented_cell_has_its_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = ("import torch", "    x = torch.ones(2)\n    x.to('cuda')\n\n    print(await x)", "  # a note", "x.shape")
    (tmp_path / "a.ipynb").write_text(notebook(*cells), encoding="utf-8")
    found = _check(tmp_path, monkeypatch, "a.ipynb", "--output-format", "concise")
    fixed = _check(tmp_path, monkeypatch, "a.ipynb", "--fix", "--unsafe-fixes")

    assert found.stdout.startswith("a.ipynb:cell 2:2:5: DEV203"), found.output
    assert fixed.exit_code == 0, fixed.output
    after = (tmp_path / "a.ipynb").read_text(encoding="utf-8")
    assert _sources(after) == [cells[0], cells[1].replace("x.to", "x = x.to"), *cells[2:]]
