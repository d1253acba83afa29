"""`explain` and `annotate`: errors of PyTorch get a note that names what the user's line means."""

from __future__ import annotations

import sys

import pytest

torch = pytest.importorskip("torch")

from devlint_guard.finding import Finding, Role  # noqa: E402
from devlint_guard.findings.explanation import annotate, explain  # noqa: E402
from devlint_guard.hooks import install_excepthook  # noqa: E402
from devlint_guard.report.text import render  # noqa: E402
from torch import Tensor, nn  # noqa: E402


class Positions(nn.Module):
    """Has a tensor that it does not register."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.table = torch.ones(3)

    def forward(self, x: Tensor) -> object:
        return x * self.weight + self.table


class Network(nn.Module):
    """Holds the one above some way down."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Identity(), Positions())

    def forward(self, x: Tensor) -> object:
        return self.layers(x)


def failing() -> RuntimeError:
    network = Network().to("meta")
    with pytest.raises(RuntimeError) as caught:
        network(torch.ones(2, 3, device="meta"))
    return caught.value


def test_a_finding_names_operand_path_and_line() -> None:
    finding = explain(failing())
    assert isinstance(finding, Finding)
    assert finding.place is not None
    assert finding.place.function == "Positions.forward"
    assert finding.module == "network.layers.1"
    assert {(one.name, one.role, one.device, one.qualified) for one in finding.operands} == {
        ("self.table", Role.ATTRIBUTE, "cpu", "network.layers.1.table"),
        ("x * self.weight", Role.TEMPORARY, "meta", ""),
    }


def test_a_slice_of_an_attribute_is_of_the_attribute() -> None:
    class Sliced(Positions):
        def forward(self, x: Tensor) -> object:
            return x + self.table[: x.size(1)]

    network = Sliced().to("meta")
    with pytest.raises(RuntimeError) as caught:
        network(torch.ones(2, 3, device="meta"))
    finding = explain(caught.value)
    assert finding is not None
    assert ("self.table[: x.size(1)]", Role.ATTRIBUTE, "network.table") in [
        (one.name, one.role, one.qualified) for one in finding.operands
    ]


def test_the_roots_given_name_the_path() -> None:
    network = Network().to("meta")
    with pytest.raises(RuntimeError) as caught:
        network(torch.ones(2, 3, device="meta"))
    finding = explain(caught.value, roots={"teacher": network})
    assert finding is not None
    assert finding.module == "teacher.layers.1"


def test_other_errors_are_left_alone() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2) @ torch.ones(3)
    annotate(caught.value)
    assert explain(caught.value) is None
    assert not hasattr(caught.value, "__notes__")


def test_a_note_is_added_once_and_the_error_stays_what_it_is() -> None:
    error = failing()
    kind, text, finding = type(error), str(error), explain(error)
    annotate(error)
    annotate(error)
    assert (type(error), str(error)) == (kind, text)
    assert finding is not None
    assert error.__notes__ == [render(finding)]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="CPython 3.10 has no notes")
def test_without_notes_the_message_is_longer() -> None:
    class OldError(RuntimeError):
        add_note = None  # type: ignore[assignment]

    error = failing()
    old = OldError(*error.args).with_traceback(error.__traceback__)
    annotate(old)
    annotate(old)
    assert str(old).startswith(str(error))
    assert str(old).count("self.table") > 0
    assert str(old).count("silence") == 1


def test_the_excepthook_annotates_and_can_be_taken_back(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.excepthook
    uninstall = install_excepthook()
    error = failing()
    sys.excepthook(type(error), error, error.__traceback__)
    uninstall()
    assert "`self.table`" in capsys.readouterr().err
    assert sys.excepthook is before
