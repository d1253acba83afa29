"""Requirements: an operation demands that its participants share a device.

`make` records the requirement of an operation. `judge` compares the devices of its participants:

* *manifest*: two of them differ, in every world or in one in which all conditions of the path hold. It is a finding.
* *latent*: a symbol is left, so that a caller decides. The summary keeps the requirement, and `propagate` judges it
  again at each call, with the caller's values.
* neither: the devices agree, or one is unknown. The requirement is dropped.

A participant with an exemption need not agree; for example, a 0-dim tensor on the CPU may be added to any tensor. If
a test reads a participant and the analysis cannot decide that test, the requirement is no finding. `discards` has the
requirements of moves whose result is thrown away.

`machines` has the requirements on the machine: a named device exists. The tests on the way are its conditions, so a
test in a caller discharges it. An entry judges it on a machine with one accelerator too few:

    >>> from devlint.inference import check_text
    >>> check_text('''
    ... import torch
    ... def placed(x, where):
    ...     return x.to(where)
    ... if torch.cuda.is_available():
    ...     placed(torch.ones(3), "cuda")
    ... placed(torch.ones(3), "cuda:1")
    ... ''', "3")
    ['4: DEV302 `x.to`: cuda:1, cuda:1']

Worked example, `x + torch.ones(3)` for a parameter `x` whose device is the symbol `d`:

    >>> from devlint.inference.requirements.judge import broken, is_open
    >>> from devlint.inference.values.data import SHARE, Participant, Place, Requirement
    >>> from devlint.inference.values.tensors import CPU, device
    >>> from devlint.inference.values.terms import DEVICE, PARAMETER, root, symbol
    >>> x, ones = Participant("tensor", symbol(root(PARAMETER, "x"), DEVICE)), Participant("tensor", CPU)
    >>> latent = Requirement(SHARE, "+", (x, ones), (), Place("a.py", 2, 11), "scaled")
    >>> broken(latent), is_open(latent)
    (None, True)

A caller that hands over a tensor on `cuda:0` breaks it, and a caller with a tensor on the CPU meets it:

    >>> one, two = broken(latent._replace(participants=(x._replace(device=device("cuda:0")), ones)))
    >>> one.device, two.device
    (device cuda:0, device cpu)
    >>> met = latent._replace(participants=(x._replace(device=CPU), ones))
    >>> broken(met), is_open(met)
    (None, False)
"""
