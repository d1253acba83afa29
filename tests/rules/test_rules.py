"""What each rule says of a fact: message, labels, story, PyTorch's words and advice."""

from __future__ import annotations

import pytest
from devlint.diagnostics import Certainty, Diagnostic, Label, Place, Related
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Concrete, Device, Variable
from devlint.facts import (
    Anchored,
    Conflict,
    DiscardedMove,
    Fact,
    FileFacts,
    InvalidDevice,
    Meeting,
    MissingAttribute,
    ParallelMisuse,
    Step,
    UncheckedDevice,
)
from devlint.frontend.concrete import check
from devlint.registry import find, load_rules

FILE = "a.py"
RULES = load_rules()
CUDA0, CUDA1 = Concrete("cuda", 0), Concrete("cuda", 1)
SAID = "Expected all tensors to be on the same device"


def _place(line: int, column: int, end_column: int) -> Place:
    return Place(FILE, line, column, line, end_column)


def _report(fact: Fact, source: str = "f(x)\n", *, rule: str | None = None) -> list[Diagnostic]:
    """What the rules (or one of them) say of a fact about the only statement of a program."""
    last = source.rstrip("\n")
    facts = FileFacts((Anchored(_place(1, 1, len(last) + 1), fact),))
    return check(source, FILE, facts, RULES if rule is None else [find(rule, RULES)])


def _meeting(name: str, device: Device, born: str, line: int = 1) -> Meeting:
    trace = (Step(_place(line, 5, 9), f"{name} is {born} here"),)
    return Meeting(name, device, _place(1, line, line + 1), trace, born)


def _conflict(
    first: Meeting,
    second: Meeting,
    *,
    kind: str = "operands",
    operation: str = "+",
    certainty: Certainty = Certainty.CERTAIN,
    via: tuple[Step, ...] = (),
) -> Conflict:
    return Conflict(kind, operation, first, second, certainty, SAID, via)


def _message(conflict: Conflict) -> str:
    (found,) = _report(conflict)
    return found.message


def _advice(conflict: Conflict) -> str:
    (found,) = _report(conflict)
    assert found.advice is not None
    return found.advice


X_ON_CUDA = _meeting("x", CUDA0, "created")
ONES_ON_CPU = _meeting("torch.ones(3)", CPU, "created", 2)


def test_mixed_operands() -> None:
    call = Step(_place(9, 1, 5), "combine is called here")
    (found,) = _report(_conflict(X_ON_CUDA, ONES_ON_CPU, via=(call,)))

    assert (found.code, found.rule) == ("DEV101", "mixed-device-operands")
    assert found.message == "`x` is on cuda:0 and `torch.ones(3)` on cpu: `+` needs one device"
    assert found.place == _place(1, 1, 5)
    assert found.labels == (Label(_place(1, 1, 2), "cuda:0"), Label(_place(1, 2, 3), "cpu"))
    assert found.related == (
        Related(_place(1, 5, 9), "x is created here"),
        Related(_place(2, 5, 9), "torch.ones(3) is created here"),
        Related(_place(9, 1, 5), "combine is called here"),
    )
    assert found.pytorch == SAID
    assert found.advice == "pass `device=x.device` to `torch.ones(3)`"


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("operands", "mixed-device-operands"),
        ("module-input", "input-not-on-module-device"),
        ("pinned", "cpu-tensor-in-device-code"),
    ],
)
def test_each_kind_of_conflict_belongs_to_one_rule(kind: str, rule: str) -> None:
    assert [found.rule for found in _report(_conflict(X_ON_CUDA, ONES_ON_CPU, kind=kind))] == [rule]


@pytest.mark.parametrize("kind", ["operands", "module-input", "pinned"])
def test_certainty_is_passed_on_and_possible_is_silent(kind: str) -> None:
    def certainties(certainty: Certainty) -> list[Certainty]:
        conflict = _conflict(X_ON_CUDA, ONES_ON_CPU, kind=kind, certainty=certainty)
        return [found.certainty for found in _report(conflict)]

    assert certainties(Certainty.CERTAIN) == [Certainty.CERTAIN]
    assert certainties(Certainty.ON_ACCELERATOR) == [Certainty.ON_ACCELERATOR]
    assert certainties(Certainty.POSSIBLE) == []


def test_labels_are_in_reading_order_and_steps_are_told_once() -> None:
    (found,) = _report(_conflict(ONES_ON_CPU, X_ON_CUDA, via=ONES_ON_CPU.trace))

    assert [label.text for label in found.labels] == ["cuda:0", "cpu"]
    assert len(found.related) == 2


def test_device_variables_in_words() -> None:
    x = _meeting("x", Variable("x"), "parameter")
    y = _meeting("y", Variable("x"), "parameter")

    assert _message(_conflict(x, ONES_ON_CPU, kind="pinned", operation="*")) == (
        "`torch.ones(3)` is on cpu, `*` needs it on the device of `x`"
    )
    assert _message(_conflict(y, ONES_ON_CPU, kind="pinned", operation="torch.cat")) == (
        "`y` is on the device of `x` and `torch.ones(3)` on cpu: `torch.cat` needs one device"
    )
    assert _message(_conflict(ONES_ON_CPU, x, kind="pinned")) == _message(
        _conflict(x, ONES_ON_CPU, kind="pinned")
    )


def test_module_is_named_without_its_call_method() -> None:
    net = _meeting("net", CUDA0, "module")
    batch = _meeting("batch", CPU, "loader", 2)

    assert _message(_conflict(net, batch, kind="module-input", operation="Linear.__call__")) == (
        "`net` is on cuda:0 and `batch` on cpu: `Linear` needs one device"
    )


def test_long_source_text_is_cut_and_put_on_one_line() -> None:
    long = _meeting("torch.stack([\n" + "    torch.ones(3),\n" * 9 + "])", CPU, "created", 2)
    message = _message(_conflict(X_ON_CUDA, long))

    assert "\n" not in message
    assert "torch.stack([ torch.ones(3), torch.ones(3)" in message
    assert len(message) < 130


ADVICE = {
    "created by a call": (X_ON_CUDA, ONES_ON_CPU, "pass `device=x.device` to `torch.ones(3)`"),
    "created before": (X_ON_CUDA, _meeting("y", CPU, "created"), "create `y` with `device=x.device`"),
    "on the left": (_meeting("y", CPU, "created"), X_ON_CUDA, "create `y` with `device=x.device`"),
    "two gpus": (X_ON_CUDA, _meeting("y", CUDA1, "created"), "create `y` with `device=x.device`"),
    "attribute": (
        X_ON_CUDA,
        _meeting("self.mask", CPU, "created"),
        'register it, so that it moves with its module: `self.register_buffer("mask", …)`; '
        "or use `self.mask.to(x.device)`",
    ),
    "batch": (
        X_ON_CUDA,
        _meeting("features", CPU, "loader"),
        "move the batch before it is used: `features = features.to(x.device)`",
    ),
    "host data": (
        X_ON_CUDA,
        _meeting("image", CPU, "host"),
        "what comes from the host starts on the cpu, move it: `image = image.to(x.device)`",
    ),
    "moved": (
        X_ON_CUDA,
        _meeting("y", CPU, "moved"),
        "move it to where it is used: `y = y.to(x.device)`",
    ),
    "parameter": (X_ON_CUDA, _meeting("y", CPU, "parameter"), "move it first: `y = y.to(x.device)`"),
    "unknown": (X_ON_CUDA, _meeting("y", CPU, "unknown"), "move it first: `y = y.to(x.device)`"),
    "parameter of a module": (
        X_ON_CUDA,
        _meeting("net.weight", CPU, "module"),
        "move the module that owns `net.weight`: `module.to(x.device)`",
    ),
    "expression": (X_ON_CUDA, _meeting("f(y)", CPU, "moved"), "move `f(y)` with `.to(x.device)`"),
    "follows an expression": (
        _meeting("x[0]", CUDA0, "created"),
        _meeting("y", CPU, "created"),
        "create `y` with `device=device`",
    ),
    "follows a parameter": (
        _meeting("f(x)", Variable("x"), "parameter"),
        ONES_ON_CPU,
        "pass `device=x.device` to `torch.ones(3)`",
    ),
}


@pytest.mark.parametrize(("first", "second", "advice"), ADVICE.values(), ids=ADVICE)
def test_advice_depends_on_how_the_stray_value_came_to_be(
    first: Meeting, second: Meeting, advice: str
) -> None:
    assert _advice(_conflict(first, second)) == advice


def test_advice_never_reads_a_device_from_a_module() -> None:
    net = _meeting("net", CUDA0, "module")
    layer = _meeting("self.layer", Variable("self.layer"), "module")
    batch = _meeting("batch", CPU, "loader", 2)

    assert _advice(_conflict(net, batch, kind="module-input")).endswith("`batch = batch.to(device)`")
    assert _advice(_conflict(layer, ONES_ON_CPU, kind="pinned", operation="Linear.__call__")) == (
        "pass `device=device` to `torch.ones(3)`"
    )


def test_module_that_stayed_behind_is_moved_once() -> None:
    net = _meeting("net", CPU, "module")
    x = _meeting("x", CUDA0, "moved", 2)

    assert _advice(_conflict(net, x, kind="module-input")) == (
        "move the module once, before it is used: `net.to(x.device)`"
    )


@pytest.mark.parametrize(
    ("method", "device", "message", "advice"),
    [
        (
            "to",
            CUDA0,
            "the result of `x.to(…)` is thrown away: `x` does not move to cuda:0",
            'keep the result: `x = x.to("cuda:0")`',
        ),
        (
            "to",
            UNKNOWN_DEVICE,
            "the result of `x.to(…)` is thrown away: `x` does not move",
            "keep the result: `x = x.to(…)`",
        ),
        (
            "to",
            Variable("y"),
            "the result of `x.to(…)` is thrown away: `x` does not move to the device of `y`",
            "keep the result: `x = x.to(…)`",
        ),
        (
            "cuda",
            Concrete("cuda"),
            "the result of `x.cuda()` is thrown away: `x` does not move to cuda",
            "keep the result: `x = x.cuda()`",
        ),
    ],
)
def test_discarded_move(method: str, device: Device, message: str, advice: str) -> None:
    (found,) = _report(DiscardedMove("x", method, device, (Step(_place(1, 1, 2), "x is created here"),)))

    assert (found.code, found.message, found.advice) == ("DEV203", message, advice)
    assert found.related == (Related(_place(1, 1, 2), "x is created here"),)


def test_unguarded_cuda() -> None:
    use = _place(4, 1, 9)
    (found,) = _report(UncheckedDevice(Concrete("cuda"), "string", '"cuda"', use, "`x`"))

    assert found.code == "DEV301"
    assert found.message == '`"cuda"` needs a CUDA device, and nothing has checked that there is one'
    assert found.related == (Related(use, "`x` uses it here"),)
    assert found.pytorch == "No CUDA GPUs are available"


@pytest.mark.parametrize(
    ("index", "needs", "pytorch", "test"),
    [
        (0, "a CUDA device, and nothing has checked that there is one", "No CUDA GPUs", "is_available()"),
        (1, "2 CUDA devices, and nothing has checked", "invalid device ordinal", "device_count() > 1"),
        (3, "4 CUDA devices, and nothing has checked", "invalid device ordinal", "device_count() > 3"),
    ],
)
def test_unguarded_cuda_index(index: int, needs: str, pytorch: str, test: str) -> None:
    (found,) = _report(UncheckedDevice(Concrete("cuda", index), "method", f"x.cuda({index})", None, ""))

    assert found.code == "DEV302"
    assert found.message.startswith(f"`x.cuda({index})` (cuda:{index}) needs {needs}")
    assert found.related == ()
    assert pytorch in str(found.pytorch)
    assert test in str(found.advice)


def test_invalid_device_string() -> None:
    (found,) = _report(InvalidDevice("gpu", "Expected one of cpu, cuda"))

    assert (found.code, found.message) == ("DEV303", "there is no device `gpu`")
    assert found.pytorch == "Expected one of cpu, cuda"


def test_module_has_no_device_attribute() -> None:
    (found,) = _report(MissingAttribute("net", "Linear"), "net.device\n")

    assert (found.code, found.message) == (
        "DEV306",
        "`net` is a `Linear`: modules have no attribute `device`",
    )
    assert found.pytorch == "'Linear' object has no attribute 'device'"
    assert found.advice == "ask a parameter: `next(net.parameters()).device`"


@pytest.mark.parametrize(
    ("problem", "ids", "words"),
    [
        ("module-elsewhere", "[1, 0]", "the module is not on the first device of `[1, 0]`"),
        ("module-elsewhere", "", "the module is not on the first device of the machine"),
        ("duplicate", "[0, 0]", "`[0, 0]` names a device twice"),
        ("empty", "[]", "`[]` names no device"),
        ("not-cuda", '["cpu"]', '`["cpu"]` names a device that is not a CUDA device'),
        ("beyond", "[0, 9]", "`[0, 9]` names a device that the machine does not have"),
        ("not-a-list", "1", "`1` is one device, DataParallel wants a list"),
    ],
)
def test_data_parallel_device_ids(problem: str, ids: str, words: str) -> None:
    story = (Step(_place(2, 1, 4), "net is moved to cuda:0 here"),)
    (found,) = _report(ParallelMisuse(problem, "module must have its parameters", ids, story, "move it"))

    assert found.code == "DEV401"
    assert found.message.startswith(words)
    assert found.related == (Related(_place(2, 1, 4), "net is moved to cuda:0 here"),)
    assert (found.pytorch, found.advice) == ("module must have its parameters", "move it")


def test_rules_are_silent_without_facts() -> None:
    assert check('x = torch.ones(3).to("cuda:7")\n', FILE, FileFacts(), RULES) == []


def test_one_rule_alone_takes_only_its_facts() -> None:
    conflict = _conflict(X_ON_CUDA, ONES_ON_CPU)

    assert len(_report(conflict, rule="DEV101")) == 1
    assert _report(conflict, rule="DEV102") == []
    assert _report(conflict, rule="DEV203") == []
