"""The reader of fixture comments: what it understands, and where it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.expectations import Claim, FixtureError, Kind, Moment, Revealed, parse

PATH = Path("some.py")


def test_functions_are_programs_and_own_their_claims() -> None:
    fixture = parse(
        "import torch\n"
        "def bad_sum():\n"
        "    # devices: 1\n"
        "    x = 1  # revealed: cuda:0\n"
        '    x + 1  # error: [mixed-device-operands] "cuda:0 and cpu"\n'
        "def helper():\n"
        "    return 1  # revealed: cpu\n"
        "def ok_sum():\n"
        "    helper()\n",
        PATH,
    )
    bad, ok = fixture.programs
    assert (bad.name, bad.kind, bad.devices, bad.line, bad.end_line) == ("bad_sum", Kind.BAD, 1, 2, 5)
    assert bad.errors == (Claim(5, "mixed-device-operands", "cuda:0 and cpu"),)
    assert bad.revealed == (Revealed(4, "cuda:0"),)
    assert (ok.name, ok.kind, ok.devices, ok.errors) == ("ok_sum", Kind.OK, 4, ())
    assert fixture.shared_revealed == (Revealed(7, "cpu"),)
    assert [revealed.line for revealed in fixture.revealed] == [4, 7]


@pytest.mark.parametrize(
    ("suffix", "moment", "devices"),
    [
        ("", Moment.HERE, None),
        ("later", Moment.LATER, None),
        ("never", Moment.NEVER, None),
        ("on 0 devices", Moment.HERE, 0),
        ("on 1 device", Moment.HERE, 1),
        ("later on 0 devices", Moment.LATER, 0),
        ("on 0 devices later", Moment.LATER, 0),
    ],
)
@pytest.mark.parametrize("text", ["", '"some text"'])
def test_suffixes(suffix: str, moment: Moment, devices: int | None, text: str) -> None:
    (program,) = parse(f"def bad_it():\n    f()  # error: [discarded-move] {text} {suffix}\n", PATH).programs
    assert program.errors == (Claim(2, "discarded-move", text.strip('"'), moment, devices),)


def test_one_comment_can_make_several_claims() -> None:
    comment = "# error: [unguarded-cuda] never  # error: [mixed-device-operands]  # revealed: unknown"
    source = f"x = 1\nx + x  {comment}\n"
    (program,) = parse(source, PATH).programs
    assert program.errors == (
        Claim(2, "unguarded-cuda", moment=Moment.NEVER),
        Claim(2, "mixed-device-operands"),
    )
    assert program.revealed == (Revealed(2, "unknown"),)


def test_a_file_without_such_functions_is_one_program() -> None:
    (program,) = parse("# program: bad\n# devices: 0\nx = 1\nx.cuda()  # error: [unguarded-cuda]\n", PATH).programs
    assert (program.name, program.kind, program.devices) == (None, Kind.BAD, 0)
    (program,) = parse("x = 1\n", PATH).programs
    assert program.kind is Kind.OK


def test_the_machine_of_a_file_holds_for_functions_that_name_none() -> None:
    source = '"""Doc."""\n# devices: 0\nimport torch\ndef ok_a():\n    pass\ndef ok_b():\n    # devices: 1\n    pass\n'
    assert [program.devices for program in parse(source, PATH).programs] == [0, 1]


def test_comments_in_strings_and_prose_are_no_claims() -> None:
    source = 's = "# error: [no-rule]"\n# errors: many\nx = 1  # an error: [not-this]\n# error handling\n'
    (program,) = parse(source, PATH).programs
    assert program.errors == ()


def test_known_wrong_answers() -> None:
    source = (
        "def fp_scalar():\n"
        "    # Limit: the rank is not known\n"
        "    x + y  # error: [mixed-device-operands] wrong\n"
        "def fn_list():\n"
        "    # Limit: list elements share one value\n"
        "    x + y  # missed: [mixed-device-operands]\n"
    )
    positive, negative = parse(source, PATH).programs
    assert positive.errors == (Claim(3, "mixed-device-operands", moment=Moment.NEVER, wrong=True),)
    assert negative.missed == (Claim(6, "mixed-device-operands"),)
    assert negative.errors == ()


def test_an_error_that_one_engine_misses() -> None:
    source = "def bad_x():\n    x + y  # missed[analysis]: [mixed-device-operands] later\n"
    fixture = parse(source, PATH)
    claim = Claim(2, "mixed-device-operands", moment=Moment.LATER, missed_by="analysis")
    assert fixture.programs[0].errors == fixture.errors_of("inference") == (claim,)
    assert fixture.errors_of("analysis") == fixture.programs[0].missed == ()


def test_errors_in_shared_code_count_for_bad_functions() -> None:
    source = "def helper():\n    x + y  # error: [mixed-device-operands]\ndef bad_call():\n    helper()\n"
    fixture = parse(source, PATH)
    assert fixture.shared_errors == (Claim(2, "mixed-device-operands"),)
    assert fixture.errors == fixture.shared_errors
    assert fixture.programs[0].errors == ()


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("def bad_x():\n    pass\n", 1, "bad_x: is bad and has no `# error:`"),
        ("def ok_x():\n    f()  # error: [a-b]\n", 1, "ok_x: is ok and has an `# error:`"),
        ("def ok_x():\n    f()  # error: a-b\n", 2, "found `a-b`"),
        ("def ok_x():\n    f()  # error [a-b]\n", 2, "needs a colon"),
        ("def ok_x():\n    f()  # error: [A_b]\n", 2, 'expected `[rule-name] "text"`'),
        ("def bad_x():\n    f()  # error: [a] soon\n", 2, "found `soon`"),
        ("def bad_x():\n    f()  # error: [a] later never\n", 2, "found `later never`"),
        ("def bad_x():\n    f()  # error: [a] never on 0 devices\n", 2, "does not go with `on 0 devices`"),
        ("def bad_x():\n    f()  # error: [a] on 99 devices\n", 2, "from 0 to 8"),
        ("def bad_x():\n    # error: [a]\n    f()\n", 2, "belongs at the end of a line of code"),
        ("def ok_x():\n    f()  # devices: 1\n", 2, "belongs on a line of its own"),
        ("def ok_x():\n    # devices: many\n    f()\n", 2, "found `many`"),
        ("def ok_x():\n    # devices: 1\n    # devices: 0\n    f()\n", 3, "is given twice"),
        ("import torch\n# devices: 1\ndef ok_x():\n    f()\n", 2, "before the first statement"),
        ("def fp_x():\n    f()  # error: [a] wrong\n", 1, "`# Limit:` and the prefixes"),
        ("def fp_x():\n    # Limit: y\n    f()  # error: [a]\n", 1, "`wrong` and the prefix fp_"),
        (
            "def bad_x():\n    g()  # error: [a]\n    f()  # error: [a] wrong\n",
            1,
            "`wrong` and the prefix fp_",
        ),
        ("def fn_x():\n    # Limit: y\n    f()\n", 1, "`# missed:` and the prefix fn_"),
        ("def bad_x():\n    f()  # missed[other]: [a]\n", 2, "found `other`"),
        ("def ok_x():\n    f()  # missed: [a]\n", 1, "`# missed:` and the prefix fn_"),
        ("def ok_x():\n    # Limit: y\n    f()\n", 1, "`# Limit:` and the prefixes"),
        ("def fn_x():\n    # Limit:\n    f()  # missed: [a]\n", 2, "says nothing"),
        ("def ok_x():\n    f()  # revealed:\n", 2, "names no device"),
        ("def h():\n    f()  # missed: [a]\ndef ok_x():\n    pass\n", 2, "stands in no bad_"),
        ("# program: ok\ndef ok_x():\n    pass\n", 1, "does not go with"),
        ("# program: fine\nx = 1\n", 1, "expected `bad`, `ok`, `fp` or `fn`"),
        ("def ok_x(:\n    pass\n", 1, "does not parse"),
    ],
)
def test_refusals_name_file_and_line(source: str, line: int, message: str) -> None:
    with pytest.raises(FixtureError) as caught:
        parse(source, PATH)
    assert str(caught.value).startswith(f"some.py:{line}: ")
    assert message in str(caught.value)
