"""Corners of PyTorch: numbers on the CPU, gradients, custom functions and hooks.

The judge and a rehearsal must end each function alike. An assertion says what PyTorch does on a machine with devices.
"""

# mypy: disable-error-code="attr-defined, index, no-untyped-call, call-overload, no-any-return, misc, union-attr"

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def at(value: Any) -> str:
    """Return where something is, as text."""
    return str(value.device)


# --- numbers on the CPU -------------------------------------------------------------------------------------


def number_written_by_a_device() -> None:
    torch.tensor(0.0).add_(torch.ones(2, device="cuda").sum())


def number_written_by_a_copy() -> None:
    number = torch.tensor(0.0)
    number.copy_(torch.ones((), device="cuda"))
    assert at(number) == "cpu"


def number_multiplied_in_place() -> None:
    number = torch.tensor(2.0)
    number *= torch.ones((), device="cuda:1")


def number_as_the_second_operand() -> None:
    x = torch.ones(2, device="cuda:1")
    x -= torch.tensor(2.0)
    assert at(x) == "cuda:1"


def number_and_number() -> None:
    assert at(torch.tensor(2.0) + torch.ones((), device="cuda:1")) == "cuda:1"


def two_numbers_beside_a_tensor() -> None:
    torch.addcmul(torch.ones(2, device="cuda"), torch.tensor(1.0), torch.tensor(2.0))


def number_as_the_out_argument() -> None:
    torch.add(torch.ones((), device="cuda"), 1, out=torch.tensor(0.0))


# --- gradients ----------------------------------------------------------------------------------------------


def gradient_of_another_type() -> None:
    net = nn.Linear(2, 2).cuda()
    net.weight.grad = torch.zeros(2, 2)


def gradient_of_another_device() -> None:
    net = nn.Linear(2, 2).cuda()
    net.weight.grad = torch.zeros(2, 2, device="cuda:1")


def gradient_on_a_device_for_the_cpu() -> None:
    net = nn.Linear(2, 2)
    net.weight.grad = torch.zeros(2, 2, device="cuda")


def gradient_of_the_same_device() -> None:
    net = nn.Linear(2, 2).cuda()
    net.weight.grad = torch.ones(2, 2, device="cuda")
    net.weight.grad = None


def gradient_given_to_backward() -> None:
    x = torch.ones(2, device="cuda", requires_grad=True)
    (x * 2).backward(torch.ones(2))


def gradient_given_to_grad() -> None:
    x = torch.ones(2, device="cuda", requires_grad=True)
    torch.autograd.grad(x * 2, x, torch.ones(2))


def gradient_crosses_devices() -> None:
    x = torch.ones(2, requires_grad=True)
    (x.to("cuda:1") * 2).to("cuda:0").sum().backward()
    assert at(x.grad) == "cpu"


def gradient_through_a_view_written_in_place() -> None:
    base = torch.zeros(2, 2, device="cuda")
    x = torch.ones(2, device="cuda", requires_grad=True)
    base[0] = x * 3
    base.sum().backward()
    assert at(x.grad) == "cuda:0"


def second_gradient() -> None:
    x = torch.ones(2, device="cuda:1", requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    first.sum().backward()
    assert at(x.grad) == "cuda:1"


# --- custom functions of autograd ---------------------------------------------------------------------------


class Leaves(torch.autograd.Function):
    """Its gradient is left on the CPU."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad.cpu() * 2


class LeavesNumber(torch.autograd.Function):
    """Its gradient is a number on the CPU."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad.sum().cpu()


class Saves(torch.autograd.Function):
    """Its backward makes a tensor, and uses saved tensors."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, scale = ctx.saved_tensors
        return grad * scale + torch.zeros_like(x), (grad * x).sum(0)


class Makes(torch.autograd.Function):
    """Its backward makes a tensor on the CPU and combines it with the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * torch.ones(2)


class Second(torch.autograd.Function):
    """The gradient of its second input is elsewhere; it has a context of its own."""

    @staticmethod
    def forward(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x + 1, y + 1

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.shape = inputs[0].shape

    @staticmethod
    def backward(ctx: Any, first: Tensor, second: Tensor) -> Any:
        return first, torch.ones(ctx.shape)


class Both(torch.autograd.Function):
    """It has two outputs, and its gradient shows where theirs are."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, first: Tensor, second: Tensor) -> Any:
        assert at(first) == at(second) == "cuda:1"
        return first * 2 + second * 3


class Moves(torch.autograd.Function):
    """Moves its input to another device, and the gradient back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.to("cuda:1")

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad.to("cuda:0")


def function_gets_zeros_for_an_unused_output() -> None:
    x = torch.ones(2, device="cuda:1", requires_grad=True)
    first, _ = Both.apply(x)
    first.sum().backward()
    assert at(x.grad) == "cuda:1"


def function_leaves_its_gradient() -> None:
    x = torch.ones(2, device="cuda", requires_grad=True)
    Leaves.apply(x).sum().backward()


def function_leaves_the_gradient_of_an_inner_tensor() -> None:
    x = torch.ones(2, device="cuda", requires_grad=True)
    Leaves.apply(x * 3).sum().backward()


def function_leaves_the_gradient_for_the_cpu() -> None:
    x = torch.ones(2, requires_grad=True)
    Leaves.apply(x).sum().backward()
    assert at(x.grad) == "cpu"


def function_leaves_a_number() -> None:
    x = torch.ones((), device="cuda", requires_grad=True)
    LeavesNumber.apply(x).backward()
    assert at(x.grad) == "cuda:0"


def function_saves_tensors() -> None:
    x, scale = torch.ones(3, 2, device="cuda:1", requires_grad=True), torch.ones(2, device="cuda:1", requires_grad=True)
    Saves.apply(x, scale).sum().backward()
    assert at(scale.grad) == at(x.grad) == "cuda:1"


def function_makes_a_tensor_on_the_cpu() -> None:
    x = torch.ones(2, device="cuda", requires_grad=True)
    Makes.apply(x).sum().backward()


def function_leaves_the_gradient_of_its_second_input() -> None:
    x, y = (torch.ones(2, device="cuda", requires_grad=True) for _ in range(2))
    one, other = Second.apply(x, y)
    (one + other).sum().backward()


def function_whose_second_input_needs_no_gradient() -> None:
    x, y = torch.ones(2, device="cuda", requires_grad=True), torch.ones(2, device="cuda")
    one, other = Second.apply(x, y)
    (one + other).sum().backward()


def function_moves() -> None:
    x = torch.ones(2, device="cuda", requires_grad=True)
    Moves.apply(x).sum().backward()
    assert at(x.grad) == "cuda:0"


# --- hooks --------------------------------------------------------------------------------------------------


def hook_of_a_tensor_leaves_the_gradient() -> None:
    x = torch.ones(2, device="cuda", requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: grad.cpu())
    y.sum().backward()


def hook_of_a_parameter_leaves_the_gradient() -> None:
    net = nn.Linear(2, 2).cuda()
    net.weight.register_hook(lambda grad: torch.zeros(2, 2))
    net(torch.ones(1, 2, device="cuda")).sum().backward()


def hook_of_a_parameter_scales_the_gradient() -> None:
    net = nn.Linear(2, 2).cuda()
    handle = net.weight.register_hook(lambda grad: grad * 2)
    net(torch.ones(1, 2, device="cuda")).sum().backward()
    handle.remove()
    assert at(net.weight.grad) == "cuda:0"


def hook_uses_a_tensor_on_the_cpu() -> None:
    net, mask = nn.Linear(2, 2).cuda(), torch.ones(2, 2)
    net.weight.register_hook(lambda grad: grad * mask)
    net(torch.ones(1, 2, device="cuda")).sum().backward()


def hook_of_a_node_leaves_the_gradient() -> None:
    y = torch.ones(2, device="cuda", requires_grad=True) * 2
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0].cpu(), *inputs[1:]))
    y.sum().backward()


def hook_of_a_node_returns_too_few_gradients() -> None:
    y = torch.ones(2, device="cuda", requires_grad=True) * 2
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0].cpu(),))
    y.sum().backward()


def hook_before_a_node_leaves_the_gradient() -> None:
    y = torch.ones(2, device="cuda", requires_grad=True) * 2
    y.grad_fn.register_prehook(lambda outputs: (outputs[0].cpu(),))
    y.sum().backward()


def hooks_of_nodes_scale_the_gradient() -> None:
    x = torch.ones(2, device="cuda", requires_grad=True)
    y = x * 2
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 3,))
    handle = y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 5, *inputs[1:]))
    y.sum().backward()
    assert x.grad.tolist() == [30.0, 30.0]
    handle.remove()


def hook_of_a_leaf_leaves_the_gradient() -> None:
    x = torch.ones(2, device="cuda", requires_grad=True)
    node = x.expand_as(x).grad_fn.next_functions[0][0]
    node.register_prehook(lambda outputs: (outputs[0].cpu(),))
    (x * 2).sum().backward()


def hook_after_accumulation() -> None:
    net, seen = nn.Linear(2, 2).to("cuda:1"), []
    net.weight.register_post_accumulate_grad_hook(lambda parameter: seen.append(at(parameter.grad)))
    net(torch.ones(1, 2, device="cuda:1")).sum().backward()
    assert seen == ["cuda:1"]


def hook_of_a_module_leaves_its_output() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).cuda()
    net[0].register_forward_hook(lambda module, args, output: output.cpu())
    net(torch.ones(1, 2, device="cuda"))


def hook_of_a_module_moves_its_input() -> None:
    net = nn.Linear(2, 2).cuda()
    net.register_forward_pre_hook(lambda module, args: tuple(one.cuda() for one in args))
    assert at(net(torch.ones(1, 2))) == "cuda:0"


def hook_of_a_module_leaves_the_gradient() -> None:
    net = nn.Linear(2, 2).cuda()
    net.register_full_backward_hook(lambda module, given, output: tuple(one.cpu() for one in given))
    x = torch.ones(1, 2, device="cuda", requires_grad=True)
    net(x).sum().backward()


def hook_of_a_module_reads_the_gradient() -> None:
    net, seen = nn.Linear(2, 2).cuda(), []
    net.register_full_backward_hook(lambda module, given, output: seen.append(at(given[0])))
    net(torch.ones(1, 2, device="cuda", requires_grad=True)).sum().backward()
    assert seen == ["cuda:0"]


def hooks_for_saved_tensors() -> None:
    x = torch.ones(2, device="cuda", requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda one: one.cpu(), lambda one: one.cuda()):
        y = (x * x).exp().sum()
    y.backward()
    assert at(x.grad) == "cuda:0"


def hooks_for_saved_tensors_leave_them() -> None:
    x = torch.ones(2, device="cuda", requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda one: one.cpu(), lambda one: one):
        y = (x * x).sum()
    y.backward()


def saved_tensors_on_the_cpu() -> None:
    x = torch.ones(2, device="cuda", requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).sum()
    y.backward()
    assert at(x.grad) == "cuda:0"


def checkpointed_part() -> None:
    net = nn.Linear(2, 2).cuda()
    x = torch.ones(1, 2, device="cuda", requires_grad=True)
    torch.utils.checkpoint.checkpoint(net, x, use_reentrant=False).sum().backward()
    torch.utils.checkpoint.checkpoint(net, x, use_reentrant=True).sum().backward()
    assert at(x.grad) == "cuda:0"
