"""Pretended CUDA devices in a CPU build of PyTorch: tensors are genuine but for their memory.

A tensor on cuda:i is a plain torch.Tensor whose TensorImpl carries that device and the CUDA dispatch key. So
all that PyTorch does in Python, in its bindings, in autograd, in composite kernels, in structured kernels and
TensorIterator is the real code with the real error text. Pretended is only what a CPU build lacks, the CUDA
kernels. A boxed fallback

1. makes the device check that torchgen generates for the CUDA backend (`checks`),
2. makes the checks of kernels that opt out of it, each after its C++ source (`special_kernels`, `checks`),
3. runs the CPU kernel on aliases of the same memory and gives the result its device (`kernels`, `relabel`).

It is written for torch 2.13.0 on x86-64 Linux, with vtable slots and structure offsets of that release.
"""

from __future__ import annotations

from tests.judge.pretended.install import install
from tests.judge.pretended.lenience import be_lenient
from tests.judge.pretended.machine import set_machine

__all__ = ["be_lenient", "install", "set_machine"]
