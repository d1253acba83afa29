"""From an error to one finding: which operand is told, under which code, with which change.

* `parallel`: DataParallel and DistributedDataParallel.
* `mismatch`: values that must be together and are not.
* `scripted`: traces of TorchScript, whose code has devices in it.
* `troubles`: every other trouble, a function each.
* `explanation`: the doors, `explain` and `annotate`.
"""
