"""Documents follow the client's edits, and places of an older text are found in the newer one or nowhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pygls", reason="pygls is not installed")

from devlint.diagnostics import Place
from devlint.editor.documents import Document
from devlint.editor.texts import Texts, shift
from devlint.project import digest
from lsprotocol import types
from pygls.workspace import PositionCodec

ENCODINGS = (types.PositionEncodingKind.Utf8, types.PositionEncodingKind.Utf16, types.PositionEncodingKind.Utf32)

TEXTS = st.text(alphabet="ab \n\r\f\u2028é😀", max_size=30)


def _position(text: str, index: int, encoding: types.PositionEncodingKind) -> types.Position:
    """The position of an index; the protocol ends lines with `\\n`, `\\r\\n` or `\\r`, and nothing else."""
    before = text[:index].replace("\r\n", "\n").replace("\r", "\n")
    line = before.rpartition("\n")[2].encode(encoding.value)
    marks = {types.PositionEncodingKind.Utf16: (2, 2), types.PositionEncodingKind.Utf32: (4, 4)}
    mark, width = marks.get(encoding, (0, 1))
    return types.Position(before.count("\n"), (len(line) - mark) // width)


@given(TEXTS, TEXTS, st.data(), st.sampled_from(ENCODINGS))
def test_an_edit_does_to_the_document_what_it_did_at_the_client(
    text: str, new: str, data: st.DataObject, encoding: types.PositionEncodingKind
) -> None:
    # No editor has a cursor between the two characters of a line end.
    places = [index for index in range(len(text) + 1) if text[index - 1 : index + 1] != "\r\n"]
    start, end = sorted((data.draw(st.sampled_from(places)), data.draw(st.sampled_from(places))))
    where = types.Range(_position(text, start, encoding), _position(text, end, encoding))
    change = types.TextDocumentContentChangePartial(where, new)
    document = Document("file:///a.py", 1, text).edited(2, [change], PositionCodec(encoding))
    assert (document.version, document.text) == (2, text[:start] + new + text[end:])


def test_a_position_beyond_the_text_is_its_end() -> None:
    far = types.Range(types.Position(0, 99), types.Position(99, 0))
    change = types.TextDocumentContentChangePartial(far, "!")
    assert Document("file:///a.py", 1, "ab\ncd").edited(2, [change], PositionCodec()).text == "ab!"


def test_several_changes_are_made_one_after_the_other() -> None:
    start = types.Range(types.Position(0, 0), types.Position(0, 0))
    changes: list[types.TextDocumentContentChangeEvent] = [
        types.TextDocumentContentChangeWholeDocument("b"),
        types.TextDocumentContentChangePartial(start, "a"),
        types.TextDocumentContentChangePartial(start, "0"),
    ]
    assert Document("file:///a.py", 1, "old").edited(2, changes, PositionCodec()).text == "0ab"


def test_a_text_that_declares_its_encoding_is_read_as_the_author_sees_it() -> None:
    text = "# coding: latin-1\nname = 'é'; x = 1\n"
    document = Document("file:///a.py", 1, text)
    assert document.data.decode("latin-1") == text
    assert document.lines == tuple(text.split("\n"))


LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=8).map(tuple)


@given(LINES, LINES, st.data())
def test_a_place_that_is_found_again_has_the_same_lines(
    before: tuple[str, ...], after: tuple[str, ...], data: st.DataObject
) -> None:
    first = data.draw(st.integers(1, len(before)))
    last = data.draw(st.integers(first, len(before)))
    place = Place("a.py", first, 1, last, 2)
    now = shift(before, after).place(place)
    if now is not None:
        assert after[now.line - 1 : now.end_line] == before[first - 1 : last]
        assert replace(now, line=first, end_line=last) == place
    else:
        assert before != after


@given(LINES, st.data())
def test_all_lines_but_the_edited_one_are_found_again(lines: tuple[str, ...], data: st.DataObject) -> None:
    edited = data.draw(st.integers(0, len(lines) - 1))
    after = (*lines[:edited], "new", "newer", *lines[edited + 1 :])
    found = shift(lines, after)
    numbers = [found.line(number + 1) for number in range(len(lines))]
    assert numbers == [None if n == edited else n + 1 if n < edited else n + 2 for n in range(len(lines))]


def test_a_file_that_has_changed_since_it_was_read_has_no_places(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"x = 1\n")
    place = Place(str(file), 1, 1, 1, 2)

    def where(now: dict[Path, Document]) -> types.Range | None:
        return Texts({file: digest(b"x = 1\n")}, {}, now, PositionCodec()).range(place)

    expected = types.Range(types.Position(0, 0), types.Position(0, 1))
    assert where({}) == expected
    assert where({file: Document(file.as_uri(), 1, "x = 1\n")}) == expected
    assert where({file: Document(file.as_uri(), 1, "y = 1\n")}) is None
    file.write_bytes(b"y = 1\n")
    assert where({}) is None
