"""What PyTorch says of two values that do not go together (2.13)."""

from __future__ import annotations

from devlint.domain.device import CPU, META, Concrete, Device, is_symbolic
from devlint.domain.kinds import Exemption, OperandRole
from devlint.domain.summary import ARGUMENT, Operand

_CPU_ARGUMENTS = {
    "pack_padded_sequence": "'lengths' argument should be a 1D CPU int64 tensor, but got 1D {device} Long tensor",
    "Tensor.pin_memory": "cannot pin 'torch.{type}.FloatTensor' only dense CPU tensors can be pinned",
    "pin_memory": "Only dense CPU tensors can be pinned",
    "FloatTensor": "expected TensorOptions(dtype=float, device=cpu, layout=Strided) (got device={device})",
    "histogram": "Could not run 'aten::histogram.bin_ct' with arguments from the 'CUDA' backend.",
    "set_state": "RNG state must be a torch.ByteTensor",
    "set_rng_state": "RNG state must be a torch.ByteTensor",
}
"""By the end of the operation's name; other operations say which argument they expect on the CPU."""


_COPIES = {
    **dict.fromkeys((".to()", ".cuda()", ".cpu()"), "Cannot copy out of meta tensor; no data!"),
    ".item()": "Tensor.item() cannot be called on meta tensors",
}
"""Of a tensor on meta, which has no data to copy."""


def wording(operation: str, first: Operand, second: Operand) -> str:
    """The message, without the exception's class; for conflicts that PyTorch words in several ways, one of them."""
    if META in (first.device, second.device) and operation in _COPIES:
        return _COPIES[operation]
    if operation == ".grad =":
        return (
            f"attempting to assign a gradient with device type '{_type(second.device)}' to a tensor with device type "
            f"'{_type(first.device)}'. Please ensure that the gradient and the tensor are on the same device"
        )
    roles = {first.role: first, second.role: second}
    if OperandRole.HOST in roles:
        value = second if first.role is OperandRole.HOST else first
        return (
            f"can't convert {shown(value.device)} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    if OperandRole.CPU in roles:
        value = second if first.role is OperandRole.CPU else first
        said = next((text for end, text in _CPU_ARGUMENTS.items() if operation.endswith(end)), None)
        if said is not None:
            return said.format(device=shown(value.device), type=_type(value.device))
        name = operation.rpartition(".")[2]
        return f"{name} expected {value.parameter} to be on cpu, but it's on {shown(value.device)}"
    if OperandRole.GENERATOR in roles:
        drawn = second if first.role is OperandRole.GENERATOR else first
        wanted, found = _type(drawn.device), _type(roles[OperandRole.GENERATOR].device)
        if operation.endswith("randn_tensor"):  # diffusers refuses it before PyTorch does
            return f"Cannot generate a {shown(drawn.device)} tensor from a generator of type {found}."
        return f"Expected a '{wanted}' device type for generator but found '{found}'"
    for side, other in ((first, second), (second, first)):
        if side.exemption is Exemption.SUBSCRIPT:
            return (
                f"indices should be either on cpu or on the same device as the indexed tensor ({shown(other.device)})"
            )
    # TensorIterator names the accelerator first, other operators the argument.
    is_elementwise = (first.exemption, second.exemption) != (Exemption.NONE, Exemption.NONE)
    if is_elementwise or second.parameter == ARGUMENT:
        one, two = (first, second) if second.device == CPU else (second, first)
        return (
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{shown(one.device)} and {shown(two.device)}!"
        )
    return (
        f"Expected all tensors to be on the same device, but got {second.parameter} is on {shown(second.device)}, "
        f"different from other tensors on {shown(first.device)}"
    )


def shown(device: Device) -> str:
    """A device as PyTorch would print it; one that follows something is an accelerator, say `cuda:0`."""
    return "cuda:0" if is_symbolic(device) else str(device)


def _type(device: Device) -> str:
    return device.type if isinstance(device, Concrete) else "cuda"
