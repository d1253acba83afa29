# names: state.mean, mean, torch.zeros
from dataclasses import dataclass, replace

import torch


@dataclass
class State:
    mean: torch.Tensor
    count: int


def reset(state):
    return replace(state, mean=torch.zeros(3), count=0)  # CAUSE
    # right: return replace(state, mean=torch.zeros(3).cuda(), count=0)


def update(state, x):
    return State(state.mean + x.mean(0), state.count + 1)


state = State(torch.zeros(3).cuda(), 0)
for _ in range(2):
    state = update(state, torch.ones(2, 3).cuda())
    state = reset(state)
