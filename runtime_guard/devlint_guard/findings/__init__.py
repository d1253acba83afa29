"""From an error to one finding: which operand is told, under which code, with which change.

* `parallel`: DataParallel, DistributedDataParallel, and traces of TorchScript.
* `mismatch`: values that must be together and are not.
* `troubles`: every other trouble, a function each.
* `explanation`: the doors, `explain` and `annotate`.
"""
