"""Values: the knowledge of an execution about names, attributes and elements.

A body is executed with *symbols* for the values of its caller. An operation on symbols that cannot be computed becomes
a *term*; where two paths meet, `either` keeps the test that chose. A summary holds such values, and a call replaces
the symbols by the caller's values and folds the terms again. So all laws of this package are one: a term that is
folded again with values equals the operation on these values.

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
