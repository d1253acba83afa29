"""Values: what an execution knows of what names, attributes and elements hold.

A body is executed with *symbols* in place of what its caller hands over. What cannot be computed from symbols becomes a
*term*; where two paths meet, `either` keeps the test that chose. A summary holds such values, and a call puts the
caller's values in the place of the symbols and folds the terms again. So all laws of this package are one: to put in
values and then to fold gives what the operation gives on these values.

Worked example, `y = x.to("cuda:0") if fast else x` for a tensor `x` whose device is the symbol `d`:

    >>> from devlint.inference.values.devices import differ
    >>> from devlint.inference.values.folding import fold
    >>> from devlint.inference.values.tensors import CPU, device
    >>> from devlint.inference.values.terms import DEVICE, FALSE, PARAMETER, TRUE, root, symbol
    >>> fast, d = root(PARAMETER, "fast"), symbol(root(PARAMETER, "x"), DEVICE)
    >>> y = fold("ite", fast, device("cuda:0"), d)
    >>> y
    ite(parameter fast, device cuda:0, parameter x#device)

A caller that hands over `fast=False` and a tensor on the CPU gets the CPU, which differs from each GPU:

    >>> fold("ite", FALSE, device("cuda:0"), CPU), fold("ite", TRUE, device("cuda:0"), CPU)
    (device cpu, device cuda:0)
    >>> differ(y, device("cuda:1")), differ(fold("ite", fast, device("cuda:0"), CPU), device("cuda:1"))
    (False, True)
"""
