"""The fused LSTM and GRU cells, which exist only for CUDA: their arithmetic in ordinary CPU operators.

The operators are aten/src/ATen/native/cuda/RNN.cu; the workspace that the forward hands to the backward is
private to the two, so its layout here is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.judge.pretended.checks import check_common_device
from tests.judge.pretended.operators import operator_name, operators
from tests.judge.pretended.relabel import ATEN, as_kernel, to_cpu_label, to_cuda_label

MaybeTensor = torch.Tensor | None


def lstm_cell(
    op: Any,
    input_gates: torch.Tensor,
    hidden_gates: torch.Tensor,
    cell: torch.Tensor,
    input_bias: MaybeTensor = None,
    hidden_bias: MaybeTensor = None,
) -> tuple[MaybeTensor, ...]:
    """Returns the new hidden value, the new cell, the workspace."""

    def arithmetic(ig: Any, hg: Any, cx: Any, ib: Any, hb: Any) -> tuple[Any, ...]:
        gates = ig + hg if ib is None else ig + hg + ib + hb
        i, f, c, o = gates.chunk(4, 1)
        i, f, c, o = i.sigmoid(), f.sigmoid(), c.tanh(), o.sigmoid()
        cy = f * cx + i * c
        return o * cy.tanh(), cy, ATEN.cat.default([i, f, c, o], 1)

    return _checked(op, arithmetic, input_gates, hidden_gates, cell, input_bias, hidden_bias)


def lstm_cell_backward(
    op: Any,
    grad_hidden: MaybeTensor,
    grad_cell: MaybeTensor,
    cell: torch.Tensor,
    new_cell: torch.Tensor,
    workspace: torch.Tensor,
    has_bias: bool,
) -> tuple[MaybeTensor, ...]:
    """Returns the gradients of the gates, the cell, the bias."""

    def arithmetic(ghy: Any, gcy: Any, cx: Any, cy: Any, ws: Any) -> tuple[Any, ...]:
        i, f, c, o = ws.chunk(4, 1)
        t = cy.tanh()
        dh = ATEN.zeros_like.default(cy) if ghy is None else ghy
        dc = dh * o * (1 - t * t) + (0 if gcy is None else gcy)
        gates = ATEN.cat.default(
            [dc * c * i * (1 - i), dc * cx * f * (1 - f), dc * i * (1 - c * c), dh * t * o * (1 - o)], 1
        )
        return gates, dc * f, gates.sum(0) if has_bias else None

    return _on_cpu(arithmetic, grad_hidden, grad_cell, cell, new_cell, workspace)


def gru_cell(
    op: Any,
    input_gates: torch.Tensor,
    hidden_gates: torch.Tensor,
    hidden: torch.Tensor,
    input_bias: MaybeTensor = None,
    hidden_bias: MaybeTensor = None,
) -> tuple[MaybeTensor, ...]:
    """Returns the new hidden value, the workspace."""

    def arithmetic(ig: Any, hg: Any, hx: Any, ib: Any, hb: Any) -> tuple[Any, ...]:
        if ib is not None:
            ig, hg = ig + ib, hg + hb
        ir, iz, i_n = ig.chunk(3, 1)
        hr, hz, hn = hg.chunk(3, 1)
        r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
        n = (i_n + r * hn).tanh()
        return n + z * (hx - n), ATEN.cat.default([r, z, n, hx, hn], 1)

    return _checked(op, arithmetic, input_gates, hidden_gates, hidden, input_bias, hidden_bias)


def gru_cell_backward(op: Any, grad: torch.Tensor, workspace: torch.Tensor, has_bias: bool) -> tuple[MaybeTensor, ...]:
    """Returns the gradients of the input gates, the hidden gates, the hidden value, the two biases."""

    def arithmetic(g: Any, ws: Any) -> tuple[Any, ...]:
        r, z, n, hx, hn = ws.chunk(5, 1)
        dn = g * (1 - z) * (1 - n * n)
        dz = g * (hx - n) * z * (1 - z)
        dr = dn * hn * r * (1 - r)
        gi = ATEN.cat.default([dr, dz, dn], 1)
        gh = ATEN.cat.default([dr, dz, dn * r], 1)
        return gi, gh, g * z, gi.sum(0) if has_bias else None, gh.sum(0) if has_bias else None

    return _on_cpu(arithmetic, grad, workspace)


def _checked(op: Any, arithmetic: Callable[..., tuple[Any, ...]], *args: MaybeTensor) -> tuple[MaybeTensor, ...]:
    check_common_device(op, operators()[operator_name(op)], args, {})
    return _on_cpu(arithmetic, *args)


def _on_cpu(arithmetic: Callable[..., tuple[Any, ...]], *args: MaybeTensor) -> tuple[MaybeTensor, ...]:
    index = next(value.device.index for value in args if value is not None and value.is_cuda)
    with as_kernel(), torch.no_grad():
        aliases = [to_cpu_label(value) if value is not None and value.is_cuda else value for value in args]
        results = arithmetic(*aliases)
    return tuple(None if value is None else to_cuda_label(value.contiguous(), index) for value in results)
