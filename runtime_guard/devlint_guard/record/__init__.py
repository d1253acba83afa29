"""What happened to tensors and modules in a run: the cause of an error is the last event that put its tensor there.

    scale = torch.ones(3)         CREATED on cpu
    net.scale = scale             STORED as `scale` of net
    net.cuda()                    MODULE: net and what it registers, to cuda:0
    net.scale * x                 fails: the storage of `scale` has the event CREATED, so that line is the cause

* `stacks`: the user's lines that are running, which of their expressions name a device, and what happened there.
* `storages`: events by the memory of a tensor, for as long as there is that memory.
* `recorder`: all that is kept of a run, and the questions to it.
* `factories`: functions that make tensors.
* `moves`: `Tensor.to` and its like, `Module._apply`, default devices, batches of a DataLoader, and `torch.load`.
* `stores`: what modules register, and what attributes, elements and lists of any object are given.
* `installed`: puts all of these in their places, once for all that record.
"""
