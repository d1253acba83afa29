"""Names that tell what a value is: attributes that only tensors have, or only modules.

A value that is used with such a name is one of those, even without other evidence. A name that numpy arrays, strings,
containers or other common objects have as well proves nothing and is not listed.
"""

from __future__ import annotations

import re

TENSOR_ONLY = frozenset(
    """
    add_ addmm argwhere baddbmm bernoulli_ clamp_ clamp_max clamp_min contiguous copy_ data_ptr detach_ div_
    element_size exp_ expand expand_as fill_ grad_fn index_add index_add_ index_copy index_fill index_select
    is_contiguous is_cuda is_floating_point is_leaf is_sparse masked_fill masked_fill_ masked_scatter
    masked_select movedim mul_ new_empty new_full new_ones new_tensor new_zeros normal_ numel numpy permute
    pin_memory pow_ random_ record_stream relu_ repeat_interleave requires_grad reshape_as retain_grad
    scatter_ scatter_add scatter_add_ sigmoid_ sqrt_ squeeze_ sub_ t_ tanh_ to_dense to_sparse tril_ triu_
    type_as unbind unflatten uniform_ unsqueeze unsqueeze_ view view_as zero_
    """.split()
)
"""Attributes that of all common types only tensors have.

Names that a helper object has as well are missing on purpose: `accelerator.backward`, `comm.gather`, `xp.matmul`.
"""

TENSOR_CALLS = frozenset("size dim detach ndimension long int bool byte short".split())
"""Names that prove a tensor when they are called: other objects have them as plain attributes, if at all."""

TENSOR_KEYWORDS = frozenset({"dim", "keepdim"})
"""A method that takes one of these belongs to a tensor: numpy says `axis` and `keepdims`."""

MODULE_ONLY = frozenset(
    """
    parameters named_parameters modules named_modules children named_children buffers named_buffers
    register_forward_hook register_forward_pre_hook register_buffer register_parameter add_module get_submodule
    """.split()
)
"""Attributes that of all common types only modules have (optimizers and wrappers share `state_dict` and `train`)."""

CALLED_MODULE = re.compile(
    r"(model|module|net|network|backbone|encoder|decoder|generator|discriminator|classifier|actor|critic|policy|net_?[DG]"
    r"|\.forward|\.generate)$"
)
"""A parameter or attribute with such a name that is called is a module, or what a module does."""

HOST_ATTRIBUTES = frozenset("shape ndim dtype nbytes itemsize".split())
"""Attributes that are host values on tensors and arrays alike."""

SAVED = "saved_tensors"
"""The attribute with which the context of an autograd function gives back the tensors that `forward` has saved."""

SAVES = "save_for_backward"
"""The method with which that context saves tensors in `forward`, and takes nothing else."""

MODULE_METHODS = frozenset(
    """
    to cuda cpu xpu ipu half float double bfloat16 type to_empty train eval requires_grad_ share_memory apply
    """.split()
)
"""Methods of `nn.Module` that return the module itself."""

PLUGIN_DEVICES = frozenset("npu mlu musa neuron tpu gcu sdaa hccl dml ocl rbln spyre supa xla habana".split())
"""Device types that torch accepts once a plug-in has registered them, and refuses before."""

MOVES = frozenset({"to", "cuda", "cpu", "xpu", "mps"})
"""Methods that put a tensor or module somewhere."""

NEEDS_CUDA = frozenset(
    """
    torch.cuda.synchronize torch.cuda.current_device torch.cuda.init torch.cuda.get_device_name
    torch.cuda.get_device_properties torch.cuda.get_device_capability torch.Tensor.pin_memory
    """.split()
)
"""Functions that raise without a CUDA device, for any arguments (torch 2.13)."""

NOTHING_BEHIND_WITHOUT_CUDA = (NEEDS_CUDA - {"torch.Tensor.pin_memory"}) | {
    f"torch.cuda.{name}" for name in ("current_stream", "default_stream", "get_rng_state", "mem_get_info")
}
"""Functions that a program calls because of CUDA: what stands behind one is only reached where there is a device."""

SAYS_AVAILABLE = frozenset({"torch.has_cuda", "torch.has_mps", "torch.version.cuda"})
"""Attributes of torch that are true only in a build for an accelerator, which programs ask instead of for a device."""

ASKS_FOR_ACCELERATOR = re.compile(r"\b(cuda|mps|gpu)\.is_available$|\.(is|has)_(\w+_)?(cuda|gpu)(_\w+)?$")
"""Functions of any library that say whether there is one: `cupy.cuda.is_available`."""

NEVER_BESIDE_CUDA = {
    "mps": "Could not run 'aten::empty.memory_format' with arguments from the 'MPS' backend",
    "xpu": "Torch not compiled with XPU enabled",
}
"""Types of devices that no build of PyTorch has together with CUDA, with what one for CUDA says of them (2.13)."""

STARTS_CUDA = NEEDS_CUDA | {"torch.cuda.is_available", "torch.accelerator.is_available"}
"""Functions after which CUDA does not read CUDA_VISIBLE_DEVICES any more."""

AUTOCAST = "torch.autocast"
"""The mode that computes in lower precision on one type of device."""

TOGETHER = frozenset(f"torch.{name}" for name in "cat concat concatenate stack hstack vstack dstack".split())
"""Functions that put the elements of a list together."""

FIELD = "dataclasses.Field"
"""The class of the result of `dataclasses.field`."""

FROM_NUMBERS = "_default"
"""A parameter of forms that take numbers alone, and put 0-dim tensors made of them on the default device."""

PARAMETERS = frozenset({"torch.nn.ParameterList", "torch.nn.ParameterDict"})
"""Modules that hold parameters."""

MODULE_BASES = frozenset({"torch.nn.Module", "torch.nn.modules.module.Module"})


KNOWS_DEVICE = frozenset({"lightning.LightningModule"})
"""Library classes that register and move what `torch.nn.Module` does, and keep their device in an attribute."""

MODULE_STEPS = ("forward", "training_step", "validation_step", "test_step", "predict_step")
"""The methods that use a module, once it is where it belongs; a trainer of lightning calls all but the first."""

CRITERION_ENDINGS = ("Loss", "Loss2d", "Criterion", "Metric")
"""How the names of losses and metrics end, in torch and in most programs."""

METRIC_LIBRARIES = ("torchmetrics.", "ignite.metrics.", "torcheval.metrics.")
"""Packages whose modules are metrics under any name."""

PLAIN_BASES = frozenset(
    """
    abc.ABC typing.Generic typing.Protocol enum.Enum enum.IntEnum torch.utils.data.Dataset
    torch.utils.data.IterableDataset torch.autograd.Function torch.nn.Sequential torch.nn.ModuleList torch.nn.ModuleDict
    collections.OrderedDict typing.NamedTuple
    """.split()
)
"""Bases that neither move anything nor add attributes that matter for devices."""

SETS_DEFAULT = frozenset({"deepxde"})
"""Packages that make the GPU the default device when they are imported (deepxde 1.15, `backend/pytorch/tensor.py`)."""

SEQUENTIAL = "torch.nn.Sequential"

LOADER = "torch.utils.data.DataLoader"
TENSOR_DATASET = "torch.utils.data.TensorDataset"

DEVICE_SCOPE = "torch.cuda.device"
"""The context manager that makes a device the current one."""

PICTURE = "PIL.Image.Image"

USUAL_NAMES = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional"}
"""As which names nearly all programs import torch."""

TENSOR = "torch.Tensor"
PARAMETER = "torch.nn.Parameter"
MODULE = "torch.nn.Module"
DEVICE = "torch.device"
DTYPE = "torch.dtype"
"""The canonical names of the classes that annotations and `isinstance` speak of."""

TENSOR_NAMES = frozenset(
    """
    torch.Tensor torch.FloatTensor torch.LongTensor torch.BoolTensor torch.IntTensor torch.HalfTensor
    torch.nn.Parameter torch.BFloat16Tensor torch.DoubleTensor torch.ByteTensor
    """.split()
)
"""Annotations that say that a value is a tensor."""

KEEPING_DECORATORS = frozenset(
    """
    torch.autocast torch.amp.autocast torch.cuda.amp.autocast abc.abstractmethod
    contextlib.contextmanager functools.cache functools.lru_cache functools.wraps
    torch._dynamo.disable torch.autograd.function.once_differentiable torch.compile torch.compiler.disable
    torch.enable_grad torch.inference_mode torch.jit.export torch.jit.ignore torch.jit.script
    torch.jit.unused torch.no_grad typing.final typing.no_type_check typing.override
    """.split()
)
"""Decorators that keep the arguments and results of a function."""
