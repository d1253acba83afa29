"""Calls of functions, methods and classes.

`target` finds the code of a callee. The callee of `f(x)` may be one function, one of several, code of a library, or a
symbol. For a symbol, the body asks its caller a question, and a caller that knows the code answers it.

Each function of the project has a summary (`summaries`), and a call applies it. No call executes the function again
in place. `arguments` binds the caller's arguments to the parameters. `substitution` answers the questions of the
summary, and replaces its symbols by the caller's values. `apply` judges the requirements with these values and writes
the effects into the caller's heap. `copies` gives the caller the objects that the call has made; their fields are
computed when somebody looks at them. `construct` makes objects of classes; `attributes` and `items` read and write
them, through properties and `__getitem__` where the class has them.

Worked example. `place` stores a tensor in an object of its caller. Its summary has this store as an effect, with the
symbol `where` for the device. The call writes the effect into `box`, with `cuda:0` in place of the symbol:

    >>> from devlint.inference import check_text
    >>> check_text('''
    ... import torch
    ... def place(box, where):
    ...     box["x"] = torch.ones(3, device=where)
    ... box = {}
    ... place(box, "cuda:0")
    ... box["x"] + torch.ones(3, device="cpu")
    ... ''')
    ['7: DEV101 `+`: the CPU, the GPU']
"""
