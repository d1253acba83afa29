"""One execution of a body: each instruction changes the state of a frame.

`run` executes a block by the table of instructions, which `statements` fills. `expressions` computes values, `names`
reads and writes variables, and `definitions` makes functions and classes. An instruction that computes a value writes
it into a register of the frame.

`branches` and `loops` execute the blocks of one instruction. If a test is decided, one branch is executed. If not, both
are, each with a fork of the state, and the two states are joined under the test. A loop over a few known elements is
executed element by element; the states of any other loop are joined until they no longer change.

This package judges no requirement and reports nothing: operations hand their requirements to `requirements`.

Worked example. For a caller that does not know `fast`, the two paths of `scaled` are joined: `x` is on `cuda:0` if
`fast` holds, else on the device of the argument. Each call here knows `fast`, and only the second call breaks the
requirement of `+`:

    >>> from devlint.inference import check_text
    >>> check_text('''
    ... import torch
    ... def scaled(x, fast):
    ...     if fast:
    ...         x = x.to("cuda:0")
    ...     return x + torch.ones(3, device="cpu")
    ... scaled(torch.ones(3), False)
    ... scaled(torch.ones(3), True)
    ... ''')
    ['6: DEV101 `+`: the CPU, the GPU']
"""
