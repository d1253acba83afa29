"""What each rule says of a fact: message, labels, story, PyTorch's words and advice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from devlint.diagnostics import Certainty, Diagnostic, Label, Place, Related, Severity
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Concrete, Device, Variable
from devlint.domain.place import AccessPath
from devlint.facts import (
    Anchored,
    BackendMismatch,
    Conflict,
    ConflictKind,
    CreateThenMove,
    DiscardedMove,
    Fact,
    FileFacts,
    InvalidDevice,
    LoopInvariantTransfer,
    LostIndex,
    Meeting,
    MissingAttribute,
    OriginKind,
    ParallelMisuse,
    ParallelProblem,
    PinnedDeviceTensor,
    ReadBeforeSync,
    Spelling,
    Step,
    SyncInLoop,
    UncheckedDevice,
    VisibilityConflict,
    VisibilityProblem,
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
    about_facts = [one for one in RULES if not one.mentions]
    return check(source, FILE, facts, about_facts if rule is None else [find(rule, RULES)])


def _meeting(name: str, device: Device, kind: str, line: int = 1) -> Meeting:
    trace = (Step(_place(line, 5, 9), f"{name} is {kind} here"),)
    return Meeting(name, device, _place(1, line, line + 1), trace, OriginKind(kind))


def _conflict(
    first: Meeting,
    second: Meeting,
    *,
    kind: str = "operands",
    operation: str = "+",
    certainty: Certainty = Certainty.CERTAIN,
    via: tuple[Step, ...] = (),
) -> Conflict:
    return Conflict(ConflictKind(kind), operation, first, second, certainty, SAID, via)


def _message(conflict: Conflict) -> str:
    (found,) = _report(conflict)
    return found.message


X_ON_CUDA = _meeting("x", CUDA0, "created")
ONES_ON_CPU = _meeting("torch.ones(3)", CPU, "created", 2)


def test_mixed_operands() -> None:
    call = Step(_place(9, 1, 5), "combine is called here")
    (found,) = _report(_conflict(X_ON_CUDA, ONES_ON_CPU, via=(call,)))

    assert (found.code, found.rule) == ("DEV101", "mixed-device-operands")
    assert found.message == "`x` is on cuda:0 and `torch.ones(3)` on cpu: `+` needs both on the same device"
    assert found.place == _place(1, 1, 5)
    assert found.labels == (Label(_place(1, 1, 2), "cuda:0"), Label(_place(1, 2, 3), "cpu"))
    assert found.related == (
        Related(_place(1, 5, 9), "x is created here", "x"),
        Related(_place(2, 5, 9), "torch.ones(3) is created here", "torch.ones(3)"),
        Related(_place(9, 1, 5), "combine is called here"),
    )
    assert found.pytorch == SAID
    assert found.advice is not None


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("operands", "mixed-device-operands"),
        ("module-input", "input-not-on-module-device"),
        ("cpu-meets-symbolic", "cpu-tensor-in-device-code"),
    ],
)
def test_each_kind_of_conflict_belongs_to_one_rule(kind: str, rule: str) -> None:
    assert [found.rule for found in _report(_conflict(X_ON_CUDA, ONES_ON_CPU, kind=kind))] == [rule]


@pytest.mark.parametrize("kind", ["operands", "module-input", "cpu-meets-symbolic"])
def test_certainty_is_passed_on(kind: str) -> None:
    def certainties(certainty: Certainty) -> list[Certainty]:
        conflict = _conflict(X_ON_CUDA, ONES_ON_CPU, kind=kind, certainty=certainty)
        return [found.certainty for found in _report(conflict)]

    assert certainties(Certainty.CERTAIN) == [Certainty.CERTAIN]
    assert certainties(Certainty.ON_ACCELERATOR) == [Certainty.ON_ACCELERATOR]
    assert certainties(Certainty.POSSIBLE) == [Certainty.POSSIBLE]


def test_labels_are_in_reading_order_and_steps_are_told_once() -> None:
    (found,) = _report(_conflict(ONES_ON_CPU, X_ON_CUDA, via=ONES_ON_CPU.trace))

    assert [label.text for label in found.labels] == ["cuda:0", "cpu"]
    assert len(found.related) == 2


def test_device_variables_in_words() -> None:
    x = _meeting("x", Variable(AccessPath("x")), "parameter")
    y = _meeting("y", Variable(AccessPath("x")), "parameter")

    assert _message(_conflict(x, ONES_ON_CPU, kind="cpu-meets-symbolic", operation="*")) == (
        "`torch.ones(3)` is on cpu, but `*` needs it on the device of `x`"
    )
    assert _message(_conflict(y, ONES_ON_CPU, kind="cpu-meets-symbolic", operation="torch.cat")) == (
        "`y` is on the device of `x`, but `torch.ones(3)` is on cpu: `torch.cat` needs both on the same device"
    )
    assert _message(_conflict(ONES_ON_CPU, x, kind="cpu-meets-symbolic")) == _message(
        _conflict(x, ONES_ON_CPU, kind="cpu-meets-symbolic")
    )


def test_input_of_a_module() -> None:
    net = _meeting("net", CUDA0, "module")
    batch = _meeting("batch", CPU, "loader", 2)

    assert _message(_conflict(net, batch, kind="module-input", operation="Linear.__call__")) == (
        "`net` is on cuda:0 and its input `batch` on cpu"
    )


def test_long_source_text_is_cut_and_put_on_one_line() -> None:
    long = _meeting("torch.stack([\n" + "    torch.ones(3),\n" * 9 + "])", CPU, "created", 2)
    message = _message(_conflict(X_ON_CUDA, long))

    assert "\n" not in message
    assert "torch.stack([ torch.ones(3), torch.ones(3)" in message
    assert len(message) < 130


def _created(name: str, line: int, creator: str = "torch.ones", column: int = 5) -> Meeting:
    """A tensor on the CPU that is met in line 3, under a name, and was created in another line."""
    trace = (Step(_place(line, column, 10), f"created on the CPU by `{creator}`"),)
    return Meeting(name, CPU, _place(3, 5, 6), trace, OriginKind.CREATED)


def _in_line_3(name: str, device: Device, kind: str, column: int = 1) -> Meeting:
    return Meeting(name, device, _place(3, column, column + 1), (Step(_place(1, 1, 2), "is moved"),), OriginKind(kind))


X = _in_line_3("x", CUDA0, "moved")
ELSEWHERE = Place("b.py", 2, 5, 2, 30)
MADE_ELSEWHERE = Meeting(
    "made()", CPU, _place(3, 5, 6), (Step(ELSEWHERE, "created on the CPU by `torch.ones`"),), OriginKind.CREATED
)

ADVICE = {
    "created by the operand": (
        X,
        replace(_created("torch.ones(3)", 3), place=_place(3, 5, 10)),
        "pass `device=x.device` to `torch.ones(3)`",
    ),
    "created in the operand": (
        X,
        replace(_created("2 * torch.ones(3)", 3, column=9), place=_place(3, 5, 10)),
        "pass `device=x.device` to `torch.ones`",
    ),
    "created before": (X, _created("y", 2), "pass `device=x.device` to `torch.ones` on line 2"),
    "created before the other": (
        _in_line_3("z", CUDA0, "moved"),
        _created("y", 2),
        "move `y` before it is used: `y = y.to(z.device)`",
    ),
    "created without a device": (
        X,
        _created("y", 2, "torch.FloatTensor"),
        "move `y` before it is used: `y = y.to(x.device)`",
    ),
    "created by a class": (X, _created("y", 2, "Table(…)"), "move `y` before it is used: `y = y.to(x.device)`"),
    "created in another file": (X, MADE_ELSEWHERE, "move `made()` with `.to(x.device)`"),
    "global": (X, _created("TABLE", 1), "use `TABLE.to(x.device)`"),
    "on the left": (_created("y", 2), X, "pass `device=x.device` to `torch.ones` on line 2"),
    "two gpus": (X, replace(_created("y", 2), device=CUDA1), "pass `device=x.device` to `torch.ones` on line 2"),
    "attribute": (
        X,
        _created("self.mask", 1),
        "if the class is a module, register `self.mask` as a buffer, so that it moves with the module: "
        '`self.register_buffer("mask", …)`; if not, use `self.mask.to(x.device)`',
    ),
    "batch": (X, _in_line_3("y", CPU, "loader"), "move `y` before it is used: `y = y.to(x.device)`"),
    "part of a batch": (X, _in_line_3("batch[0]", CPU, "loader"), "use `batch[0].to(x.device)`"),
    "moved": (X, _in_line_3("y", CPU, "moved"), "move `y` before it is used: `y = y.to(x.device)`"),
    "moved just now": (X, _in_line_3("y.cpu()", CPU, "moved"), "use `y.to(x.device)` instead of `y.cpu()`"),
    "parameter": (X, _in_line_3("y", CPU, "parameter"), "move `y` before it is used: `y = y.to(x.device)`"),
    "parameter of a module": (
        X,
        _in_line_3("net.weight", CPU, "module"),
        "move the module that owns `net.weight`: `net.to(x.device)`",
    ),
    "output of a module": (
        X,
        _in_line_3("net(y)", CPU, "module"),
        "move the module that `net(y)` comes from to cuda:0, the device of `x`",
    ),
    "expression": (X, _in_line_3("-y", CPU, "unknown"), "move `-y` with `.to(x.device)`"),
    "follows an element": (
        _in_line_3("x[0]", CUDA0, "moved"),
        _created("y", 2),
        "pass `device=x[0].device` to `torch.ones` on line 2",
    ),
    "follows an expression of one value and numbers": (
        _in_line_3("x.unsqueeze(0) + 1", CUDA0, "created"),
        _created("y", 2),
        "pass `device=x.device` to `torch.ones` on line 2",
    ),
    "follows an expression of two values": (
        _in_line_3("x + x", CUDA0, "created"),
        _created("y", 2),
        "move `y` to cuda:0, the device of `x + x`",
    ),
    "follows a written device": (
        Meeting(
            'torch.ones(3, device="cuda:0")', CUDA0, _place(3, 1, 2), (Step(_place(3, 1, 2), ""),), OriginKind.CREATED
        ),
        _created("y", 2),
        'move `y` before it is used: `y = y.to("cuda:0")`',
    ),
    "follows a parameter": (
        _in_line_3("f(x)", Variable(AccessPath("x")), "parameter"),
        _created("y", 2),
        "pass `device=x.device` to `torch.ones` on line 2",
    ),
    "follows a layer": (
        _in_line_3("x.fc(x)", Variable(AccessPath("x").attribute("fc")), "module"),
        _created("y", 2),
        "move `y` to the device of `x.fc`",
    ),
    "follows an unknown element": (
        _in_line_3("f(x)", Variable(AccessPath("x").each()), "parameter"),
        _created("y", 2),
        "move `y` to the device of `f(x)`",
    ),
}
PROGRAM = "def f(x):\n    y = made()\n    z + y\n"


def _advice_in_program(conflict: Conflict) -> str:
    """The advice of a conflict in the last line of the program."""
    facts = FileFacts((Anchored(_place(3, 5, 10), conflict),))
    (found,) = check(PROGRAM, FILE, facts, RULES)
    assert found.advice is not None
    return found.advice


@pytest.mark.parametrize(("first", "second", "advice"), ADVICE.values(), ids=ADVICE)
def test_advice_names_what_created_the_value_and_only_what_exists(first: Meeting, second: Meeting, advice: str) -> None:
    assert _advice_in_program(_conflict(first, second)) == advice


def test_advice_does_not_use_a_name_in_the_assignment_that_binds_it() -> None:
    source = "a, b = made(0), made(1)\na + b\n"
    a = Meeting("a", CUDA0, _place(2, 1, 2), (Step(_place(1, 8, 15), "is moved"),), OriginKind.MOVED)
    b = Meeting(
        "b", CPU, _place(2, 5, 6), (Step(_place(1, 17, 24), "created on the CPU by `torch.ones`"),), OriginKind.CREATED
    )
    facts = FileFacts((Anchored(_place(2, 1, 6), _conflict(a, b)),))

    assert [found.advice for found in check(source, FILE, facts, RULES)] == [
        "move `b` before it is used: `b = b.to(a.device)`"
    ]


def test_advice_never_reads_a_device_from_a_module() -> None:
    net = _in_line_3("x", CUDA0, "module")
    batch = _in_line_3("y", CPU, "loader", 5)
    conflict = _conflict(net, batch, kind="module-input", operation="Linear.__call__")

    assert _advice_in_program(conflict) == "move `y` to cuda:0, the device of `x`"


@pytest.mark.parametrize("operation", ["CrossEntropyLoss.__call__", "*"])
def test_advice_asks_no_parameter_of_what_may_have_none(operation: str) -> None:
    net = _in_line_3("x", CUDA0, "module")
    conflict = _conflict(net, _in_line_3("y", CPU, "loader", 5), kind="module-input", operation=operation)

    assert _advice_in_program(conflict) == "move `y` to cuda:0, the device of `x`"


@pytest.mark.parametrize("kind", ["module-input", "cpu-meets-symbolic"])
def test_module_that_stayed_behind_is_moved_once(kind: str) -> None:
    net = _in_line_3("net", CPU, "module")
    x = _in_line_3("x", CUDA0, "moved", 5)
    first, second = (net, x) if kind == "module-input" else (x, net)

    assert _advice_in_program(_conflict(first, second, kind=kind, operation="Linear.__call__")) == (
        "move the module before it is used: `net.to(x.device)`"
    )


@pytest.mark.parametrize(
    ("name", "code", "device", "message", "advice"),
    [
        (
            "x",
            "x.to(device, non_blocking=True)",
            CUDA0,
            "the result of `x.to(…)` is thrown away: `x` does not move to cuda:0",
            "keep the result: `x = x.to(device, non_blocking=True)`",
        ),
        (
            "x[0]",
            "x[0].to(device)",
            UNKNOWN_DEVICE,
            "the result of `x[0].to(…)` is thrown away: `x[0]` does not move",
            "keep the result: `x[0] = x[0].to(device)`",
        ),
        (
            "x",
            "x.to(y.device)",
            Variable(AccessPath("y")),
            "the result of `x.to(…)` is thrown away: `x` does not move to the device of `y`",
            "keep the result: `x = x.to(y.device)`",
        ),
        (
            "f(x)",
            "f(x).cuda()",
            Concrete("cuda"),
            "the result of `f(x).cuda()` is thrown away: `f(x)` does not move to cuda",
            "use the result, or give it a name",
        ),
    ],
)
def test_discarded_move(name: str, code: str, device: Device, message: str, advice: str) -> None:
    method = "cuda" if "cuda" in code else "to"
    trace = (Step(_place(1, 1, 2), "x is created here"),)
    (found,) = _report(DiscardedMove(name, method, device, trace), f"{code}\n")

    assert (found.code, found.message, found.advice) == ("DEV203", message, advice)
    assert found.related == (Related(_place(1, 1, 2), "x is created here"),)


def test_discarded_move_of_a_parameter_is_one_of_its_module() -> None:
    made = Step(_place(7, 1, 14), "created on the CPU by `torch.nn.Linear`")
    (found,) = _report(DiscardedMove("net.weight", "to", CUDA0, (made,)), "net.weight.to(device)\n")

    assert found.advice == "move the module that owns it: `net.to(device)`"


def test_tensor_that_is_created_and_moved_in_one_statement_is_not_missed() -> None:
    made = Step(_place(1, 1, 14), "created on the CPU by `torch.zeros`")
    earlier = replace(made, place=_place(7, 1, 14))
    source = "torch.zeros(1).cuda()\n"

    assert _report(DiscardedMove("torch.zeros(1)", "cuda", CUDA0, (made,)), source) == []
    assert len(_report(DiscardedMove("torch.zeros(1)", "cuda", CUDA0, (earlier,)), source)) == 1


def test_unguarded_cuda() -> None:
    use = _place(4, 1, 9)
    (found,) = _report(UncheckedDevice(Concrete("cuda"), Spelling.STRING, '"cuda"', use))

    assert found.code == "DEV301"
    assert found.message == '`"cuda"` needs a CUDA device, and nothing has checked that there is one'
    assert found.related == (Related(use, '`"cuda"` is used here'),)
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
    (found,) = _report(UncheckedDevice(Concrete("cuda", index), Spelling.METHOD, f"x.cuda({index})", None))

    assert found.code == "DEV302"
    assert found.message.startswith(f"`x.cuda({index})` names cuda:{index}, which needs {needs}")
    assert found.related == ()
    assert pytorch in str(found.pytorch)
    assert test in str(found.advice)


@pytest.mark.parametrize(
    ("device", "available", "words"),
    [
        (Concrete("cuda"), 0, "`d` needs a CUDA device, and this machine has none"),
        (Concrete("cuda", 0), 0, "`d` names cuda:0, which needs a CUDA device, and this machine has none"),
        (Concrete("cuda", 2), 2, "`d` names cuda:2, which needs 3 CUDA devices, and this machine has 2"),
    ],
)
def test_device_that_a_known_machine_lacks(device: Concrete, available: int, words: str) -> None:
    (found,) = _report(UncheckedDevice(device, Spelling.STRING, "d", None, available))
    assert found.message == words


def test_lost_index() -> None:
    (found,) = _report(LostIndex("y", Variable(AccessPath("x")), (Step(_place(2, 1, 4), "moved to cpu by `.cpu()`"),)))

    assert (found.code, found.pytorch) == ("DEV302", None)
    assert found.message == "`.cuda()` moves `y` to the current GPU, but it came from the device of `x`"
    assert found.related == (Related(_place(2, 1, 4), "moved to cpu by `.cpu()`"),)


@pytest.mark.parametrize(
    ("fact", "words", "pytorch"),
    [
        (
            VisibilityConflict(VisibilityProblem.LATE, '"0"', None, None, ()),
            'CUDA_VISIBLE_DEVICES is set to `"0"` too late: CUDA has read it already',
            None,
        ),
        (
            VisibilityConflict(VisibilityProblem.BEYOND, '"cuda:2"', Concrete("cuda", 2), 2, ()),
            '`"cuda:2"` needs cuda:2, but CUDA_VISIBLE_DEVICES leaves 2 GPUs, which PyTorch numbers cuda:0 and cuda:1',
            "CUDA error: invalid device ordinal",
        ),
        (
            VisibilityConflict(VisibilityProblem.BEYOND, "x.cuda()", Concrete("cuda", 0), 0, ()),
            "`x.cuda()` needs cuda:0, but CUDA_VISIBLE_DEVICES hides all GPUs",
            "No CUDA GPUs are available",
        ),
    ],
)
def test_visible_devices_conflict(fact: VisibilityConflict, words: str, pytorch: str | None) -> None:
    (found,) = _report(fact)
    assert (found.code, found.message, found.pytorch) == ("DEV305", words, pytorch)


@pytest.mark.parametrize(
    ("fact", "code", "words"),
    [
        (SyncInLoop("loss.item()", "", CUDA0), "DEV501", "`loss.item()` in each step waits for cuda:0 to finish"),
        (
            SyncInLoop("loss", "print", Variable(AccessPath("x"))),
            "DEV501",
            "`print(loss)` in each step waits for the device of `x`",
        ),
        (
            CreateThenMove("torch.ones(3)", "cuda", CUDA1),
            "DEV502",
            "`torch.ones(3)` is created on the CPU, and `.cuda()`",
        ),
        (LoopInvariantTransfer("w", CUDA0), "DEV503", "each step of the loop copies the same `w` to cuda:0"),
        (ReadBeforeSync("y.item()", "", ()), "DEV504", "`y.item()` reads a copy that may not have arrived"),
        (ReadBeforeSync("y", "testing", ()), "DEV504", "testing `y` reads a copy that may not have arrived"),
        (PinnedDeviceTensor("the dataset", CUDA0, SAID, ()), "DEV505", "the dataset gives tensors on cuda:0"),
    ],
)
def test_transfers(fact: Fact, code: str, words: str) -> None:
    (found,) = _report(fact)

    assert (found.code, found.severity) == (code, Severity.ERROR if code == "DEV505" else Severity.WARNING)
    assert found.message.startswith(words)
    assert found.advice


def test_invalid_device_string() -> None:
    (found,) = _report(InvalidDevice("gpu", "Expected one of cpu, cuda"))

    assert (found.code, found.message) == ("DEV303", "there is no device `gpu`")
    assert found.pytorch == "Expected one of cpu, cuda"


def test_module_has_no_device_attribute() -> None:
    (found,) = _report(MissingAttribute("net", "outer.Linear"), "net.device\n")

    assert (found.code, found.message) == (
        "DEV306",
        "`net` is a `Linear`: modules have no attribute `device`",
    )
    assert found.pytorch == "'Linear' object has no attribute 'device'"
    assert found.advice == "use the name of the device that `net` is moved to"


@pytest.mark.parametrize(
    ("problem", "ids", "words"),
    [
        (
            ParallelProblem.MODULE_ELSEWHERE,
            "[1, 0]",
            "the module is on cpu, but DataParallel looks for it on cuda:1, the first of `[1",
        ),
        (
            ParallelProblem.MODULE_ELSEWHERE,
            "",
            "the module is on cpu, but DataParallel looks for it on cuda:1, the first of",
        ),
        (ParallelProblem.DUPLICATE, "[0, 0]", "`[0, 0]` names a device twice"),
        (ParallelProblem.EMPTY, "[]", "`[]` names no device"),
        (ParallelProblem.NOT_CUDA, '["cpu"]', '`["cpu"]` names a device that is not a CUDA device'),
        (ParallelProblem.BEYOND, "[0, 9]", "`[0, 9]` names a device that the machine does not have"),
        (ParallelProblem.NOT_A_LIST, "1", "`device_ids` is `1`, but DataParallel needs a list"),
        (ParallelProblem.RESULT_ON_CPU, "[0, 1]", "the module returns a tensor on the CPU"),
    ],
)
def test_data_parallel_device_ids(problem: ParallelProblem, ids: str, words: str) -> None:
    story = (Step(_place(2, 1, 4), "net is moved to cuda:0 here"),)
    said = "module must have its parameters"
    (found,) = _report(ParallelMisuse("DataParallel", problem, said, ids, CPU, CUDA1, story, "move it"))

    assert found.code == "DEV401"
    assert found.severity is (Severity.WARNING if problem is ParallelProblem.DUPLICATE else Severity.ERROR)
    assert found.message.startswith(words)
    assert found.related == (Related(_place(2, 1, 4), "net is moved to cuda:0 here"),)
    assert (found.pytorch, found.advice) == ("module must have its parameters", "move it")


@pytest.mark.parametrize(
    ("problem", "ids", "words"),
    [
        (
            ParallelProblem.MODULE_ELSEWHERE,
            "[1]",
            "the module is on cpu, but `device_ids=[1]` moves its inputs to cuda:1",
        ),
        (
            ParallelProblem.MODULE_ON_CPU,
            "device_ids=[rank]",
            "the module is on the CPU, but `device_ids=[rank]` needs a module on a CUDA device",
        ),
        (
            ParallelProblem.SEVERAL_DEVICES,
            "device_ids=[0]",
            "the module is spread over several devices, but `device_ids=[0]` needs a module on one",
        ),
        (ParallelProblem.SEVERAL_TYPES, "", "some parameters of the module are on the CPU and some are not"),
        (ParallelProblem.SEVERAL, "[0, 1]", "`[0, 1]` names several devices, but DistributedDataParallel takes one"),
        (ParallelProblem.OUTPUT_WITHOUT_IDS, "output_device=1", "`output_device=1` needs `device_ids` too"),
        (ParallelProblem.NOT_CUDA, '["cpu"]', '`["cpu"]` names a device that is not a CUDA device'),
        (ParallelProblem.BEYOND, "[9]", "`[9]` names a device that the machine does not have"),
        (
            ParallelProblem.NOT_A_LIST,
            "0",
            "`device_ids` is `0`, but DistributedDataParallel needs a list of one device",
        ),
    ],
)
def test_distributed_device_ids(problem: ParallelProblem, ids: str, words: str) -> None:
    fact = ParallelMisuse("DistributedDataParallel", problem, "PyTorch's words", ids, CPU, CUDA1, (), "move it")
    (found,) = _report(fact)

    assert (found.code, found.severity, found.message) == ("DEV402", Severity.ERROR, words)
    assert (found.pytorch, found.advice) == ("PyTorch's words", "move it")


@pytest.mark.parametrize(
    ("name", "device", "words"),
    [
        ("count", CPU, "`count` is on cpu, but the backend `nccl` takes CUDA tensors only"),
        ("", None, "the backend `nccl` needs a CUDA device, but this machine has none"),
    ],
)
def test_collective_on_backend_without_device(name: str, device: Device | None, words: str) -> None:
    story = (Step(_place(2, 1, 4), "created on the CPU by `torch.tensor`"),)
    (found,) = _report(BackendMismatch("nccl", name, device, "No backend type", story))

    assert (found.code, found.message, found.pytorch) == ("DEV403", words, "No backend type")
    assert found.related == (Related(_place(2, 1, 4), "created on the CPU by `torch.tensor`"),)


def test_rules_are_silent_without_facts() -> None:
    assert check('x = torch.ones(3).to("cuda:7")\n', FILE, FileFacts(), RULES) == []


def test_one_rule_alone_takes_only_its_facts() -> None:
    conflict = _conflict(X_ON_CUDA, ONES_ON_CPU)

    assert len(_report(conflict, rule="DEV101")) == 1
    assert _report(conflict, rule="DEV102") == []
    assert _report(conflict, rule="DEV203") == []
