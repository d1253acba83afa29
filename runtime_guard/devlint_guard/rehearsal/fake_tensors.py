"""Fake tensors, as `FakeTensorMode` and `torch.export` make them: PyTorch itself gives them devices and compares these.

Autograd's engine asks for the driver of each device. C++ is told that a fake tensor is on the CPU, since there is no
driver. So a helper tensor that C++ makes is on the CPU, and takes the device of the tensors that it meets.

    x = FakeTensorMode().from_tensor(torch.ones(2).cuda())    Python sees cuda:0, C++ the CPU
    F.one_hot(x.long())                                       C++ makes `arange` on the CPU, which meets `x`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from devlint_guard.program.replacements import Replacements, around
from devlint_guard.rehearsal.labels import CPU
from devlint_guard.rehearsal.machine import MACHINE
from devlint_guard.rehearsal.operators import MARKS

_device_of: Any = torch.ops.prim.device.default
_helpers: Any = WeakIdKeyDictionary()


def install(replaced: Replacements) -> None:
    """Replace the dispatch of fake tensors and of their mode."""
    of_class: Any = FakeTensor.__torch_dispatch__.__func__  # type: ignore[attr-defined]
    for name in ("init_cuda_context", "init_gpu_context"):  # of a release, either starts the driver
        if hasattr(fake_tensor, name):
            replaced.put(fake_tensor, name, lambda *_: None)
    replaced.put(Tensor, "_make_subclass", staticmethod(around(Tensor._make_subclass, _make)))
    replaced.put(FakeTensor, "__torch_dispatch__", classmethod(around(of_class, _dispatch_of_class)))
    replaced.around(FakeTensorMode, "dispatch", _dispatch)
    # Up to torch 2.4, the code that `torch.export` runs has these around its fake tensors.
    inner = property(lambda self: torch._from_functional_tensor(self.elem).device)
    replaced.add(FunctionalTensor, "fake_device", inner)


def _make(make: Any, *args: Any, device_for_backend_keys: Any = None, **kwargs: Any) -> Any:
    keys = device_for_backend_keys
    if keys is not None:
        kwargs["device_for_backend_keys"] = CPU if keys.type == MACHINE.name else keys
    return make(*args, **kwargs)


def _dispatch_of_class(dispatch: Any, cls: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
    result = dispatch(cls, func, *args, **kwargs)
    return CPU if func is _device_of and result.type == MACHINE.name else result


def _dispatch(
    dispatch: Any, self: Any, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    kwargs = dict(kwargs or {})
    tensors = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
    fakes = [one for one in tensors if isinstance(one, FakeTensor)]
    own = next((one.fake_device for one in fakes if one not in _helpers), None)
    for one in fakes:
        if own is not None and one in _helpers:
            one.fake_device = own
            del _helpers[one]
    is_hidden = kwargs.get("device") == CPU and not MARKS.is_marked
    if is_hidden and own is not None:
        kwargs["device"] = own
    wanted = kwargs.get("device")
    # PyTorch computes with the numbers themselves where it knows them all.
    is_known = bool(tensors) and all(one.constant is not None for one in fakes)
    if is_known and wanted is not None and wanted.type == MACHINE.name:
        result = dispatch(self, func, types, args, {**kwargs, "device": CPU})
        result.fake_device = wanted
        return result
    result = dispatch(self, func, types, args, kwargs)
    if func is _device_of:
        return CPU if result.type == MACHINE.name else result
    if own is None and (is_hidden or fakes) and isinstance(result, FakeTensor):
        _helpers[result] = True
    return result
