"""PyTorch's texts, of this version and of older ones, are told apart and read."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from devlint_guard.explain.messages import Trouble, read  # noqa: E402
from torch import nn  # noqa: E402

SAME = "Expected all tensors to be on the same device, but "

TEXTS: list[tuple[str, Trouble, tuple[str, ...], str]] = [
    (
        SAME + "got mat2 is on cpu, different from other tensors on cuda:0 (when checking argument in method x)",
        Trouble.APART,
        ("cpu", "cuda:0"),
        "mat2",
    ),
    (
        SAME + "found at least two devices, cuda:0 and cpu! (when checking argument for argument mat2 in method x)",
        Trouble.APART,
        ("cuda:0", "cpu"),
        "mat2",
    ),
    (SAME + "found at least two devices, cuda:0 and cuda:1!", Trouble.APART, ("cuda:0", "cuda:1"), ""),
    ("Tensor on device cpu is not on the expected device meta!", Trouble.APART, ("cpu", "meta"), ""),
    (
        "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
        Trouble.APART,
        ("cpu", "cuda:0"),
        "mask",
    ),
    (
        "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor at cpu",
        Trouble.APART,
        ("cuda:0", "cpu"),
        "",
    ),
    (
        "Expected query, key, and value to have the same device type, but got query.device: cuda:0 "
        "key.device: cpu and value.device: cpu instead.",
        Trouble.APART,
        ("cuda:0", "cpu"),
        "",
    ),
    (
        "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same or input should "
        "be a MKLDNN tensor and weight is a dense tensor",
        Trouble.APART,
        ("cpu", "cuda"),
        "weight",
    ),
    ("expected device cuda:0 but got device cpu for value tensor", Trouble.APART, ("cuda:0", "cpu"), ""),
    (
        "Tensor device mismatch\n  Explanation: " + SAME + "found at least two devices, meta and cpu!\n  Hint: Move",
        Trouble.APART,
        ("meta", "cpu"),
        "",
    ),
    (
        "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
        Trouble.INDEX,
        ("cpu",),
        "",
    ),
    ("Cannot copy out of meta tensor; no data!", Trouble.META, (), ""),
    (
        "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
        Trouble.NOT_ON_CPU,
        ("cuda:0",),
        "lengths",
    ),
    ("Expected a 'cuda' device type for generator but found 'cpu'", Trouble.GENERATOR, ("cuda", "cpu"), ""),
    ("Expected a 'cpu' generator device but found 'cuda:0'", Trouble.GENERATOR, ("cpu", "cuda:0"), ""),
    ("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned", Trouble.PINNED, (), ""),
    (
        "Attempting to deserialize object on CUDA device 3 but torch.cuda.device_count() is 1.",
        Trouble.CHECKPOINT,
        (),
        "",
    ),
    ("No CUDA GPUs are available", Trouble.NO_DEVICE, (), ""),
    ("Found no NVIDIA driver on your system. Please check that", Trouble.NO_DEVICE, (), ""),
    ("CUDA error: invalid device ordinal\nGPU device may be out of range", Trouble.NO_INDEX, (), ""),
    ("Invalid device string: 'cuda0'", Trouble.DEVICE_TEXT, (), ""),
    (
        "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on "
        "device: cpu",
        Trouble.DATA_PARALLEL,
        ("cuda:0", "cpu"),
        "",
    ),
    ("No backend type associated with device type cpu", Trouble.COLLECTIVE, ("cpu",), ""),
    ("Tensors must be CUDA and dense", Trouble.COLLECTIVE, (), ""),
    ("Cannot re-initialize CUDA in forked subprocess. To use CUDA", Trouble.FORKED, (), ""),
]


@pytest.mark.parametrize(("text", "trouble", "devices", "argument"), TEXTS)
def test_texts(text: str, trouble: Trouble, devices: tuple[str, ...], argument: str) -> None:
    message = read(RuntimeError(text))
    assert message is not None
    assert (message.trouble, message.devices, message.argument) == (trouble, devices, argument)


def test_other_kinds_of_exception() -> None:
    numpy = TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy")
    assert (message := read(numpy)) is not None
    assert (message.trouble, message.devices) == (Trouble.HOST_ACCESS, ("cuda:0",))
    assert (message := read(AssertionError("Torch not compiled with CUDA enabled"))) is not None
    assert (message.trouble, message.fields["type"]) == (Trouble.NO_DEVICE, "CUDA")


def test_an_attribute_that_modules_do_not_have() -> None:
    with pytest.raises(AttributeError) as caught:
        nn.Linear(1, 1).device  # noqa: B018
    assert (message := read(caught.value)) is not None
    assert message.trouble is Trouble.NO_ATTRIBUTE


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("mat1 and mat2 shapes cannot be multiplied (1x2 and 3x4)"),
        RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("CUDA error: device-side assert triggered"),
        ValueError("optimizer got an empty parameter list"),
        AttributeError("'list' object has no attribute 'device'"),
        KeyError("Expected all tensors to be on the same device"),
        IndexError("list index out of range"),
    ],
)
def test_errors_that_are_not_of_devices(error: Exception) -> None:
    assert read(error) is None
