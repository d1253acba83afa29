"""lightning: its module is a module that knows its device, and whose steps get batches that are there.

A trainer moves modules as it goes, which is unknown here.
"""

class LightningModule(torch.nn.Module):
    device: Device[D]
    current_epoch: Number
    global_step: Number
    def __init__(self, *args: object, **kwargs: object) -> None: ...

class LightningDataModule:
    def __init__(self, *args: object, **kwargs: object) -> None: ...

def seed_everything(seed: Number | None = ..., workers: Number = ..., verbose: Number = ...) -> Number: ...
