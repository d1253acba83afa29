"""torchmetrics: a metric is a module, and its state moves with it.

What becomes of inputs elsewhere differs by metric (torchmetrics 1.9, each of them updated on pretended devices). Those
that add to their state, for which `_Metric` stands, raise where the state is on the CPU and the input is not; the other
way round, most results are 0-dim and pass. Those that collect their inputs in a list take any.
"""

class Metric(torch.nn.Module):
    device: Device[D]
    def __init__(self, *args: object, **kwargs: object) -> None: ...

@transfer
class _Metric(Metric):
    @transfer
    def forward(self, *args: object, **kwargs: object) -> object: ...
    @transfer
    def update(self, *args: object, **kwargs: object) -> None: ...
    def compute(self) -> object: ...
    def reset(self) -> None: ...
