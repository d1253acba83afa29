"""The codes that the guard speaks. Imports nothing.

Where the linter can see the same thing, the code and the name are the linter's; DEV6 is what only a run shows.
"""

from __future__ import annotations

NAMES = {
    "DEV101": "mixed-device-operands",
    "DEV102": "input-not-on-module-device",
    "DEV104": "index-on-other-device",
    "DEV105": "host-access-of-device-tensor",
    "DEV106": "generator-on-other-device",
    "DEV107": "device-tensor-for-cpu-argument",
    "DEV108": "loss-or-metric-state-not-moved",
    "DEV201": "unregistered-tensor-attribute",
    "DEV202": "unregistered-submodules",
    "DEV206": "optimizer-state-before-move",
    "DEV301": "unguarded-cuda",
    "DEV302": "unguarded-cuda-index",
    "DEV303": "invalid-device-string",
    "DEV304": "load-without-map-location",
    "DEV306": "module-has-no-device-attribute",
    "DEV401": "data-parallel-device-ids",
    "DEV402": "distributed-device-ids",
    "DEV403": "collective-on-backend-without-device",
    "DEV501": "sync-in-loop",
    "DEV505": "pin-device-tensor",
    "DEV601": "module-split-across-devices",
    "DEV602": "meta-tensor-in-computation",
    "DEV603": "unexpected-device",
    "DEV605": "cuda-in-forked-process",
}
"""The name of each code."""

TEXTS = {
    "DEV601": """\
## What it does
Reports a module whose own parameters and buffers are on different devices.

## Why is this bad
PyTorch refuses the first operation that takes two of them. A parameter that is assigned after `model.to(device)` stays
where it was created, and a parameter that two modules share moves with either of them.

## Example

    net = nn.Linear(4, 4).to("cuda")
    net.bias = nn.Parameter(torch.zeros(4))

## Use instead

    net = nn.Linear(4, 4)
    net.bias = nn.Parameter(torch.zeros(4))
    net.to("cuda")
""",
    "DEV602": """\
## What it does
Reports a tensor on `meta`, which has a shape and no data, where it meets a tensor that has data.

## Why is this bad
PyTorch refuses some of these operations. Others, such as `x @ w` and convolutions, return memory that nothing has
written to, without an error. Often a checkpoint lacks a key of a model that was created on `meta`.

## Example

    net = nn.Linear(4, 4, device="meta")
    net(torch.ones(2, 4))

## Use instead

    net = nn.Linear(4, 4, device="meta")
    net.to_empty(device="cpu")
    net.load_state_dict(torch.load("net.pt", map_location="cpu"))
    net(torch.ones(2, 4))
""",
    "DEV603": """\
## What it does
Reports a parameter or buffer that is not on the device that `guard(model, expect="cuda")` names.

## Why is this bad
A model that stayed on the CPU raises no error. It is only slow.

## Example

    with guard(net, expect="cuda"):
        train(net)

## Use instead

    net.to("cuda")
    with guard(net, expect="cuda"):
        train(net)
""",
    "DEV605": """\
## What it does
Reports a use of CUDA in a process that was forked after its parent had used CUDA.

## Why is this bad
CUDA does not survive a fork, and PyTorch refuses to go on. The usual cause is a data set that moves its tensors to a
GPU, read by a `DataLoader` with workers.

## Example

    def __getitem__(self, index):
        return self.data[index].cuda()

## Use instead

    def __getitem__(self, index):
        return self.data[index]

    for batch in loader:
        batch = batch.cuda()
""",
}
"""What `devlint explain` says of the codes that the linter does not have."""
