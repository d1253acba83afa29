"""Reports: JSON loses nothing, and the page shows what it is given as text, whatever that is."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from devlint_guard import allow, guard  # noqa: E402
from devlint_guard.codes import NAMES  # noqa: E402
from devlint_guard.errors import DevlintWarning, GuardUsageError  # noqa: E402
from devlint_guard.finding import Change, Finding, Operand, Place, Role, Step  # noqa: E402
from devlint_guard.rehearsal import rehearse  # noqa: E402
from devlint_guard.report import html as page  # noqa: E402
from devlint_guard.report import json as document  # noqa: E402
from devlint_guard.report import summary  # noqa: E402
from devlint_guard.report.record import (  # noqa: E402
    Allowed,
    Direction,
    Held,
    InSteps,
    Part,
    Program,
    Record,
    Rehearsal,
    Transfer,
)
from devlint_guard.session import Guard  # noqa: E402
from devlint_guard.watch.snapshot import machine, tree_of  # noqa: E402
from torch import nn  # noqa: E402

from tests.browser import document_after_scripts, tints_on_screen  # noqa: E402

HOSTILE = "</pre><script>document.title='out'</script><img src=x onerror=\"document.title='out'\">'\"&`<b>`\x00"

texts = st.text(max_size=8) | st.just(HOSTILE)
counts = st.integers(0, 10**12)
devices = st.sampled_from(["cpu", "meta", "cuda:0", "cuda:17", "cpu and meta"]) | texts
places = st.builds(Place, texts, st.integers(1, 9), st.integers(0, 9), st.integers(1, 9), st.integers(0, 9), texts)
steps = st.builds(Step, texts, st.none() | places)
operands = st.builds(
    Operand,
    name=texts,
    role=st.sampled_from(Role),
    device=devices,
    detail=texts,
    qualified=texts,
    place=st.none() | places,
    history=st.lists(steps, max_size=2).map(tuple),
    blamed=st.booleans(),
)
findings = st.builds(
    Finding,
    code=st.sampled_from(sorted(NAMES)),
    message=texts,
    place=st.none() | places,
    module=texts,
    module_class=texts,
    operands=st.lists(operands, max_size=2).map(tuple),
    pytorch=st.none() | texts,
    help=st.lists(texts, max_size=2).map(tuple),
    changes=st.lists(st.builds(Change, places, texts, texts), max_size=1).map(tuple),
    suspect=st.booleans(),
    step=st.none() | st.integers(0, 9),
    ranks=st.lists(st.integers(0, 9), max_size=2).map(tuple),
    count=st.integers(1, 9),
)
transfers = st.builds(
    Transfer,
    place=st.none() | places,
    source=texts,
    direction=st.sampled_from(Direction),
    by=texts,
    count=counts,
    bytes=counts,
    waits=counts,
    implicit=st.booleans(),
    same=counts,
    steps=st.none() | st.builds(InSteps, counts, counts, counts, counts),
)
held = st.lists(st.builds(Held, texts, texts, devices, texts, counts), max_size=2).map(tuple)
parts = st.recursive(
    st.builds(Part, texts, texts, held),
    lambda inner: st.builds(Part, texts, texts, held, st.lists(inner, max_size=2).map(tuple)),
    max_leaves=4,
)
several = st.lists(findings, max_size=2).map(tuple)
records = st.builds(
    Record,
    torch=texts,
    python=texts,
    devices=st.lists(texts, max_size=2).map(tuple),
    config=st.dictionaries(texts, texts | st.integers() | st.none() | st.booleans() | st.lists(texts), max_size=3),
    steps=st.integers(0, 9),
    ranks=st.lists(st.integers(0, 9), max_size=2).map(tuple),
    processes=st.integers(1, 9),
    findings=several,
    suspects=several,
    transfers=st.lists(transfers, max_size=3).map(tuple),
    roots=st.lists(parts, max_size=2).map(tuple),
    program=st.none() | st.builds(Program, texts, st.lists(texts, max_size=2).map(tuple), st.floats(0, 10**6), texts),
    allowed=st.lists(st.builds(Allowed, findings, texts), max_size=2).map(tuple),
)


@settings(deadline=None)
@given(records)
def test_json_is_read_back(record: Record) -> None:
    text = document.render(record)
    assert document.read(text) == record
    assert document.render(document.read(text)) == text


def test_fields_that_nobody_knows_are_passed_over() -> None:
    text = document.render(Record("2", "3"))
    assert document.read(text.replace("{", '{"observed": {"version": 1, "runs": []},', 1)) == Record("2", "3")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"version": 2}', '{"version": 1}', document.render(Record("2", "3")).replace('"ledger": []', "")],
)
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(GuardUsageError):
        document.read(text)


def test_fields_of_the_document() -> None:
    """Those who read it without us rely on them."""
    data = json.loads(document.render(Record("2.13.0", "3.11", transfers=(TRANSFER,), config={"allow": ("a",)})))
    names = "version torch python devices program config steps ranks processes findings suspects allowed ledger modules"
    assert list(data) == [*names.split(), "used_gpu"]
    assert data["version"] == 1
    assert data["config"] == {"allow": ["a"]}
    assert data["ledger"][0]["direction"] == "host to device"


PLACE = Place("train.py", 3, 5, 3, 9, "train")
TRANSFER = Transfer(PLACE, "x = x.to(dev)", Direction.TO_DEVICE, "copy", 10, 2880, 10)

# --- the page -----------------------------------------------------------------------------------------------

_VOID = {"meta", "link", "br", "img"}


class Reader(HTMLParser):
    """Holds a page to be well formed, and collects its elements and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


ELEMENTS = set(
    "html head meta title style body header h1 h2 h3 p span i b ul ol li main section article code pre mark div table "
    "thead tbody tr th td details summary del ins".split()
)
ATTRIBUTES = set("lang charset name content http-equiv class id style title aria-hidden open colspan".split())


@settings(deadline=None)
@given(records)
def test_no_text_becomes_markup(record: Record) -> None:
    reader = read(page.render(record))
    assert reader.elements <= ELEMENTS
    assert reader.attributes <= ATTRIBUTES


def hostile() -> Record:
    place = dataclasses.replace(PLACE, file=HOSTILE, function=HOSTILE)
    operand = Operand(HOSTILE, Role.VARIABLE, HOSTILE, HOSTILE, HOSTILE, place, (Step(HOSTILE, place),), True)
    finding = Finding(
        "DEV101", HOSTILE, place, HOSTILE, HOSTILE, (operand,), HOSTILE, (HOSTILE,), (Change(place, HOSTILE, HOSTILE),)
    )
    return Record(
        HOSTILE,
        HOSTILE,
        (HOSTILE,),
        config={HOSTILE: HOSTILE},
        findings=(finding,),
        suspects=(finding,),
        transfers=(dataclasses.replace(TRANSFER, place=place, source=HOSTILE, by=HOSTILE),),
        program=Program(HOSTILE, (HOSTILE,), 1.0, HOSTILE),
        allowed=(Allowed(finding, HOSTILE),),
        roots=(Part(HOSTILE, HOSTILE, (Held(HOSTILE, HOSTILE, HOSTILE, HOSTILE, 1),), (Part(HOSTILE, HOSTILE),)),),
    )


def test_hostile_names_stay_names() -> None:
    shown = HOSTILE.replace("\x00", r"\x00")
    reader = read(page.render(hostile()))
    assert "script" not in reader.elements
    assert reader.text.count(shown) > 15


def test_hostile_names_stay_names_in_a_browser(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page.render(hostile()), encoding="utf-8")
    seen = document_after_scripts(file, tmp_path / "profile")
    assert "<title>devlint guard: 1 finding</title>" in seen
    assert "<script" not in seen
    assert "<img" not in seen


def test_a_browser_shows_devices_in_their_colours(tmp_path: Path) -> None:
    operands = (
        Operand("batch", Role.VARIABLE, "cpu", "float32[2, 4]", "batch", None, (), True),
        Operand("net", Role.MODULE, "cuda:0", "weight", "net", None, (), False),
    )
    finding = Finding("DEV102", "`batch` is on cpu", PLACE, "net", "Linear", operands, None, ("move it",))
    file = tmp_path / "report.html"
    file.write_text(page.render(Record("2.13.0", "3.11", findings=(finding,))), encoding="utf-8")
    seen = tints_on_screen(file, tmp_path / "profile")
    assert min(seen["cpu"], seen["a0"]) > 100
    assert seen["a1"] == 0


REHEARSED = Rehearsal(1, 0, "judged", 0, "the program ran to its end", "", ())
FOUND = (Finding("DEV101", "two", PLACE),)


@pytest.mark.parametrize("rehearsal", [None, REHEARSED])
@pytest.mark.parametrize("findings", [(), FOUND])
@pytest.mark.parametrize("used_gpu", [True, False])
def test_only_a_run_that_used_a_gpu_is_clean(
    rehearsal: Rehearsal | None, findings: tuple[Finding, ...], *, used_gpu: bool
) -> None:
    record = Record("2", "3", rehearsal=rehearsal, findings=findings, used_gpu=used_gpu)
    header = page.render(record).partition("</header>")[0]
    kinds = [kind for kind in ("good", "bad", "unknown") if f'class="verdict {kind}"' in header]
    assert kinds == ["bad" if findings else "good" if used_gpu else "unknown"]
    assert (">clean<" in header) is ("good" in kinds)
    says = not findings and not used_gpu and rehearsal is None
    assert ("saw nothing on a GPU" in summary.render(record)) is says
    assert ("saw nothing on a GPU" in page.render(record)) is says
    assert document.read(document.render(record)) == record


def test_a_record_knows_whether_cuda_was_started() -> None:
    with guard(mode="record") as alone:
        torch.ones(2)
    with rehearse(), guard(mode="record") as watched:
        torch.ones(2).cuda()
        assert watched.record().used_gpu
    assert alone.record().used_gpu is (torch.cuda.is_initialized() or torch.backends.mps.is_available())


def test_the_page_needs_nothing_else() -> None:
    text = page.render(Record("2.13.0", "3.11"))
    assert "default-src 'none'" in text
    for word in ("http://", "https://", "url(", "@import", "src=", "href="):
        assert word not in text


def test_operands_are_coloured_where_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text("def train(x, y):\n    # one\n    return x + yy\n")
    monkeypatch.chdir(tmp_path)
    place = Place("train.py", 3, 12, 3, 18, "train")
    x = Operand("x", Role.ARGUMENT, "cuda:0", place=dataclasses.replace(place, end_column=13))
    y = Operand("yy", Role.ARGUMENT, "cpu", place=dataclasses.replace(place, column=16), blamed=True)
    text = page.render(Record("2", "3", findings=(Finding("DEV101", "two", place, operands=(y, x)),)))
    assert '<mark class="a0" title="cuda:0">x</mark> + <mark class="blamed cpu" title="cpu">yy</mark>' in text


def test_bars_are_in_proportion() -> None:
    small = dataclasses.replace(TRANSFER, bytes=720, source="other")
    text = page.render(Record("2", "3", transfers=(TRANSFER, small)))
    assert "width:100.0%" in text
    assert "width:25.0%" in text
    assert "3.6 kB" in text


# --- the tree of modules ------------------------------------------------------------------------------------


class Holder(nn.Module):
    """Shares a module, and has tensors that no table of modules knows."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.again = self.first
        self.rnn = nn.LSTM(2, 2)
        self.plain = torch.ones(3)
        self.more = {"a": [torch.ones(1, device="meta")]}
        self.loose = [nn.Parameter(torch.ones(1))]
        self.register_buffer("mask", torch.ones(1))


def test_the_tree_has_every_tensor_once() -> None:
    tree = tree_of("net", Holder())
    assert [part.name for part in tree.parts] == ["first", "rnn"]
    assert [(one.name, one.role, one.device) for one in tree.tensors] == [
        ("mask", "buffer", "cpu"),
        ("plain", "unregistered attribute", "cpu"),
        ("more['a'][0]", "unregistered attribute", "meta"),
        ("loose[0]", "unregistered attribute", "cpu"),
    ]
    assert [one.name for one in tree.parts[1].tensors] == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
    assert sum(one.bytes for one in tree.parts[0].held()) == 24


def test_the_machine_is_described_without_starting_cuda() -> None:
    assert machine()["torch"] == torch.__version__
    assert torch.cuda.is_initialized() is False


# --- in use -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["txt", "json", "html"])
def test_a_guard_writes_what_the_name_of_the_file_asks_for(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"report.{suffix}"
    network = nn.Sequential(nn.Linear(2, 2)).to("meta")
    with Guard(network, mode="record", level="deep", ledger=True, report=file):
        network[0](torch.ones(1, 2, device="meta"))
        torch.ones(2, 2) @ torch.ones(2, 2, device="meta")
    text = file.read_text(encoding="utf-8")
    assert "DEV602" in text
    if suffix == "json":
        record = document.read(text)
        assert [finding.code for finding in record.findings] == ["DEV602"]
        assert [(root.name, root.kind) for root in record.roots] == [("network", "Sequential")]
        assert record.config["level"] == "deep"
    assert text.startswith({"txt": sys.argv[0], "json": "{", "html": "<!doctype html>"}[suffix])


def test_transfers_stand_in_columns() -> None:
    long = dataclasses.replace(TRANSFER, count=7, direction=Direction.NONE, by="item()", source="loss.item()")
    assert summary.render(Record("2", "3", transfers=(TRANSFER, long))).splitlines() == [
        "devlint has found nothing",
        "",
        "transfers by line",
        "",
        "  10x  2880 B  to device copy  train.py:3  x = x.to(dev)",
        "   7x          waits item()    train.py:3  loss.item()",
        "",
        "the host waited 20 times",
    ]


def test_transfers_tell_their_steps_and_copies_of_one_tensor() -> None:
    each = dataclasses.replace(TRANSFER, same=10, steps=InSteps(0, 4, 5, 2))
    once = dataclasses.replace(TRANSFER, count=1, bytes=8, waits=1, source="y", steps=InSteps(3, 3, 1, 1))
    some = dataclasses.replace(TRANSFER, count=3, bytes=4, waits=0, source="z", steps=InSteps(0, 8, 2, 2))
    record = Record("2", "3", steps=5, transfers=(each, once, some))
    assert summary.render(record).splitlines()[4:] == [
        "  10x  2880 B  to device copy  train.py:3  x = x.to(dev)",
        "               2 a step, steps 0 to 4; the same tensor 10 times",
        "   1x     8 B  to device copy  train.py:3  y",
        "               in step 3",
        "   3x     4 B  to device copy  train.py:3  z",
        "               up to 2 a step in 2 of the steps 0 to 8",
        "",
        "the host waited 11 times, 2.2 times a step",
    ]
    text = read(page.render(record)).text
    for part in ("2 a step, steps 0 to 4", "the same tensor 10 times", "the host waited 11 times, 2.2 times a step"):
        assert part in text


def test_each_form_names_the_program_and_how_it_ended() -> None:
    record = Record("2", "3", steps=40, program=Program("train.py", ("--name", "a b"), 83.4, "KeyError: 'x'"))
    said = "train.py --name 'a b': KeyError: 'x' after 1 min 23 s"
    assert summary.render(record).startswith(f"{said}, 40 steps\n")
    assert said in read(page.render(record)).text
    assert json.loads(document.render(record))["program"] == {
        "script": "train.py",
        "arguments": ["--name", "a b"],
        "seconds": 83.4,
        "ended": "KeyError: 'x'",
    }


@pytest.mark.parametrize(
    ("error", "ended"),
    [
        (None, "finished"),
        (SystemExit(), "exit code 0"),
        (SystemExit(3), "exit code 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (ValueError("one\ntwo"), "ValueError: one"),
    ],
)
def test_a_guard_notes_how_the_program_ends(error: BaseException | None, ended: str) -> None:
    active = Guard(mode="record")
    with contextlib.suppress(BaseException), active:
        if error is not None:
            raise error
    program = active.record().program
    assert program is not None
    assert (program.ended, program.arguments) == (ended, tuple(sys.argv[1:]))


def test_what_is_allowed_is_shown_with_its_reason(tmp_path: Path) -> None:
    convolution, x = nn.Conv2d(1, 1, 1, device="meta"), torch.ones(1, 1, 2, 2)
    with Guard(report=tmp_path / "report.json", allow={"*.never": "unused"}) as active:
        for _ in range(2):
            with allow("DEV602", reason="shapes alone"):
                convolution(x)
    assert active.findings == []
    record = document.read((tmp_path / "report.json").read_text(encoding="utf-8"))
    (allowed,) = record.allowed
    assert (allowed.reason, allowed.finding.code, allowed.finding.count) == ("shapes alone", "DEV602", 2)
    assert "shapes alone" in read(page.render(record)).text
    line = next(line for line in summary.render(record).splitlines() if "shapes alone" in line)
    assert line.startswith("  DEV602  tests/guard/test_report.py:")
    with Guard(allow={"DEV602": "no data yet"}) as active:
        convolution(x)
    assert [one.reason for one in active.record().allowed] == ["no data yet"]


def test_the_page_shows_a_change_as_a_diff() -> None:
    change = Change(PLACE, "    x = y", "    y = y.cuda()\n    x = y")
    other = Change(PLACE, "    x = y", "    x = y.cuda()")
    text = page.render(
        Record("2", "3", findings=(Finding("DEV101", "two", PLACE, help=("move it",), changes=(change,)),))
    )
    assert "<ins>+ y = y.cuda()</ins><span>  x = y</span>" in text
    text = page.render(Record("2", "3", findings=(Finding("DEV101", "two", PLACE, help=("do",), changes=(other,)),)))
    assert "<del>- x = y</del><ins>+ x = y.cuda()</ins>" in text


def test_a_report_that_cannot_be_written_hides_nothing(tmp_path: Path) -> None:
    with (
        pytest.warns(DevlintWarning, match="no report"),
        pytest.raises(ZeroDivisionError),
        Guard(report=tmp_path / "missing" / "report.json"),
    ):
        print(1 / 0)


def test_a_report_on_a_full_disk_is_not_half_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python 3.11 would take half a file for the whole
    resource = pytest.importorskip("resource", reason="limits of a process are POSIX")
    report, before = tmp_path / "report.json", resource.getrlimit(resource.RLIMIT_FSIZE)
    report.write_text("before")
    try:
        with pytest.warns(DevlintWarning, match="no report: .*File too large"), Guard(report=report):
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert report.read_text() == "before"
    assert list(tmp_path.iterdir()) == [report]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX")
def test_a_report_may_go_to_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "report.txt"
    os.mkfifo(pipe)
    with open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)) as reader:
        with Guard(report=pipe):
            pass
        assert "\n\ndevlint has found nothing\n" in reader.read()
    assert pipe.is_fifo()
