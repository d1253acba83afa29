"""Devices that objects and the process keep, in functions that get the object from a caller.

Each of `PROGRAMS` has one line that PyTorch cannot execute. The right programs beside them are fixtures.
"""

from __future__ import annotations

import textwrap

import pytest
from devlint.inference import check_text

PROGRAMS = {
    "a part of a module is a DataParallel": """
        import torch
        class Holder(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.part = torch.nn.DataParallel(torch.nn.Linear(4, 2), device_ids=[0, 1])
            def forward(self, x):
                return self.part(x)  # DEV401
        Holder()(torch.ones(8, 4))
        """,
    "a function calls the DataParallel of its caller": """
        import torch
        def trained(net, x):
            return net(x)  # DEV401
        trained(torch.nn.DataParallel(torch.nn.Linear(4, 2), device_ids=[0, 1]), torch.ones(8, 4))
        """,
    "the results of a DataParallel": """
        import torch
        net = torch.nn.DataParallel(torch.nn.Linear(4, 2).cuda(), device_ids=[0, 1])
        net(torch.ones(8, 4)) + torch.ones(2)  # DEV101
        """,
    "a function sends the tensor of its caller": """
        import torch
        def mean(value):
            total = value.clone()
            torch.distributed.all_reduce(total)  # DEV403
            return total / torch.distributed.get_world_size()
        torch.distributed.init_process_group("nccl")
        mean(torch.tensor(3.0))
        """,
    "a method sends a tensor of its object": """
        import torch
        class Counter:
            def __init__(self):
                self.count = torch.zeros(1)
            def total(self):
                torch.distributed.all_reduce(self.count)  # DEV403
                return self.count
        def start(backend):
            torch.distributed.init_process_group(backend)
        start("nccl")
        Counter().total()
        """,
    "layers in a list that the module has registered and nobody moved": """
        import torch
        class Stack(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [torch.nn.Linear(4, 4)]
                self.registered = torch.nn.ModuleList(self.layers)
            def forward(self, x):
                return self.layers[0](x)  # DEV102
        Stack()(torch.ones(4, device="cuda:0"))
        """,
    "a generator of an object": """
        import torch
        class Noise:
            def __init__(self, device):
                self.generator = torch.Generator(device=device)
            def like(self, x):
                return torch.randn(x.shape, device=x.device, generator=self.generator)  # DEV106
        Noise("cuda:0").like(torch.ones(3, device="cuda:0"))
        Noise("cpu").like(torch.ones(3, device="cuda:0"))
        """,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_broken_program_is_reported_once(text: str) -> None:
    program = textwrap.dedent(text)
    lines = [(number, line.partition("  # ")[2]) for number, line in enumerate(program.split("\n"), 1)]
    expected = [f"{number}: {code}" for number, code in lines if code]
    assert [" ".join(told.split(" ")[:2]) for told in check_text(program)] == expected


def test_a_test_of_a_device_that_the_caller_does_not_know_guards() -> None:
    program = """
import argparse
import torch
from batches import loader
parser = argparse.ArgumentParser()
parser.add_argument("--accelerator", action="store_true")
options = parser.parse_args()
if options.accelerator and torch.accelerator.is_available():
    device = torch.accelerator.current_accelerator()
else:
    device = torch.device("cpu")
class Split(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)
    def forward(self, x):
        if x.is_cuda:
            return torch.nn.parallel.data_parallel(self.layer, x, [0, 1])
        return self.layer(x)
net = Split().to(device)
for number, batch in enumerate(loader):
    net(batch[0].to(device))
"""
    assert check_text(program) == []
