"""Programs that are right, run on pretended CUDA devices: guarded, they do what they do unguarded.

Functions that begin with `ok_` are run one by one by `test_right_programs`; each fails on its own if something differs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import rnn

from tests.guard.agreement import agree


class Network(nn.Module):
    """Some of everything."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.last = nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Any:
        return self.last(self.norm(self.first(x)).relu())


def ok_training_on_a_device() -> None:
    def run() -> object:
        network = Network().cuda()
        optimizer = torch.optim.AdamW(network.parameters())
        for _ in range(2):
            loss = nn.CrossEntropyLoss()(network(torch.randn(3, 4).cuda()), torch.tensor([0, 1, 0]).cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()  # its count of steps stays on the CPU
        return list(network.state_dict().values())

    agree(run)


def ok_packed_sequences() -> None:
    lstm = nn.LSTM(4, 3, bidirectional=True).cuda()
    hidden = (torch.zeros(2, 2, 3).cuda(), torch.zeros(2, 2, 3).cuda())

    def run() -> object:
        packed = rnn.pack_padded_sequence(torch.ones(3, 2, 4).cuda(), torch.tensor([3, 1]))
        output, state = lstm(packed, hidden)
        return output.data, state

    agree(run, lstm)


def ok_lengths_of_a_loss_on_the_cpu() -> None:
    lengths = torch.tensor([3]), torch.tensor([2])

    def run() -> object:
        scores = torch.randn(3, 1, 5).cuda().requires_grad_()
        for targets in (torch.tensor([[1, 2]]).cuda(), torch.tensor([[1, 2]])):
            nn.CTCLoss()(scores.log_softmax(-1), targets, *lengths).backward()
        return scores.grad

    agree(run)


def ok_a_number_on_the_cpu() -> None:
    agree(lambda: nn.HuberLoss()(torch.ones(3).cuda(), torch.ones(3).cuda()) * torch.tensor(2.0))


def ok_parts_on_two_devices() -> None:
    class Parts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 4).to("cuda:0"), nn.Linear(4, 4).to("cuda:1")

        def forward(self, x: Tensor) -> Any:
            return self.second(self.first(x.to("cuda:0")).to("cuda:1"))

    parts = Parts()
    agree(lambda: parts(torch.ones(2, 4)), parts)


def ok_data_parallel() -> None:
    parallel = nn.DataParallel(Network().eval().cuda(), device_ids=[0, 1])
    agree(lambda: parallel(torch.ones(4, 4).cuda()), parallel)
    agree(lambda: parallel(torch.ones(4, 4)), parallel)  # it moves its input


def ok_a_default_device() -> None:
    def run() -> object:
        with torch.device("cuda"):
            return Network()(torch.ones(2, 4))

    agree(run)


def ok_a_module_moves_its_input_itself() -> None:
    class Moves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x: Tensor) -> Any:
            return x.to(self.weight.device) * self.weight

    moves = Moves().cuda()
    agree(lambda: moves(torch.ones(4)), moves)


def ok_a_hook_moves_the_input() -> None:
    linear = nn.Linear(4, 4).cuda()
    linear.register_forward_pre_hook(lambda module, args: tuple(one.cuda() for one in args))
    agree(lambda: linear(torch.ones(2, 4)), linear)


def ok_moved_between_calls() -> None:
    network = Network().eval()

    def run() -> object:
        return [network.to(device)(torch.ones(2, 4).to(device)).cpu() for device in ("cuda:0", "cpu", "cuda:1", "cpu")]

    agree(run, network)


def ok_offloaded_to_the_cpu() -> None:
    from accelerate import cpu_offload  # type: ignore[import-untyped]

    network = Network().eval()
    cpu_offload(network, execution_device=torch.device("cuda:0"))
    agree(lambda: network(torch.ones(2, 4)), network)


def ok_dispatched_over_devices() -> None:
    from accelerate import dispatch_model

    network = dispatch_model(Network().eval(), {"first": 0, "norm": 1, "last": "cpu"}, main_device=0)
    agree(lambda: network(torch.ones(2, 4)), network)


def ok_an_index_on_the_cpu() -> None:
    agree(lambda: torch.arange(6.0).cuda()[torch.tensor([0, 2])])


def ok_quantised_and_cast() -> None:
    network = Network().eval().cuda()

    def run() -> object:
        with torch.autocast("cuda", torch.bfloat16):
            return network(torch.ones(2, 4).cuda())

    agree(run, network)


def ok_tied_parameters() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.head = nn.Embedding(5, 4), nn.Linear(4, 5)
            self.head.weight = self.table.weight

        def forward(self, index: Tensor) -> Any:
            return self.head(self.table(index))

    def trained() -> object:
        tied = Tied().to("cuda")
        optimizer = torch.optim.AdamW(tied.parameters())
        for _ in range(5):
            optimizer.zero_grad()
            tied(torch.tensor([1, 2]).cuda()).sum().backward()
            optimizer.step()
        return tied.state_dict()

    agree(trained)
    agree(trained, level="deep")
    # Away from "meta" each module gets a parameter of its own: a pity, but nothing that meets is apart.
    with torch.device("meta"):
        tied = Tied()
    tied.to_empty(device="cuda")
    agree(lambda: tied(torch.tensor([1]).cuda()) * 0, tied)
