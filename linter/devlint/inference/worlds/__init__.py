"""Worlds: the choices that no code of the project makes, and their values.

Three kinds of choices are free: the number of accelerators of the machine, the options of a user, and the inputs of a
client. Each choice is one symbol wherever a value depends on it, so two uses of `args.device` are on one device. A
world gives each choice a value: 8 accelerators or 1; for an option, a truth value, or a value that a test compares it
with, or another value.

`choices` yields the worlds of a requirement: one for each combination of its choices. It also names the conditions of
the path that share a choice with the devices, because only these can rule out a world.

Worked example. The device of a tensor is `"cuda:0" if args.gpu else "cpu"`, and the operation stands behind
`if not args.gpu:`. The condition holds in one of the two worlds:

    >>> from devlint.inference.values.folding import fold
    >>> from devlint.inference.values.tensors import CPU, device
    >>> from devlint.inference.values.terms import OPTION, root
    >>> from devlint.inference.worlds.choices import worlds
    >>> gpu = root(OPTION, "gpu")
    >>> where = fold("ite", gpu, device("cuda:0"), CPU)
    >>> for world, conditions in worlds([where], [fold("not", gpu)]):
    ...     print(world.put(where), [world.truth(each) for each in conditions])
    device cuda:0 [False]
    device cpu [True]
"""
