"""Transfer functions: what a device signature cannot say of a call.

A signature says that the result of `torch.zeros_like(x)` is where `x` is. It cannot say that `nn.DataParallel(model,
device_ids=[0, 1])` wants the parameters of `model` on `cuda:0`: a function of `parallel` does. Each file registers its
functions in the tables of `devlint.analysis.libraries.transfer_tables`, where calls look them up.

From the bottom up:

* `availability`: devices themselves: making, counting and choosing them.
* `collectives`: process groups, whose backend takes tensors of some device types only.
* `containers`: modules that hold modules.
* `indices`: subscripts of tensors, and their function forms.
* `loading`: loaders, datasets, checkpoints.
* `optimizers`: optimizers, whose state follows nothing.
* `python`: the functions of Python that tensors and modules pass through.
* `wrappers`: functions whose result behaves like the function or module that they are given.
* `companions`: libraries around torch that move or place several objects at once.
* `parallel`: DataParallel and DistributedDataParallel.
* `tensors`: tensors made from data, and moves.
"""
