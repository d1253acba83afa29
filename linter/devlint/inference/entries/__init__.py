"""Entries: the last callers. An entry hands over values in place of symbols, and judges the requirements that remain.

Each file is an entry by itself: a program, whose global variables hold concrete values. `solve` is the entry for a body
that no code of the project calls; it only gives values to global variables. `callers` are outside of the project:
pytest calls a test with unknown fixtures, a library of options calls a command with the options of its user, and
somebody calls a public method for an object that was made with unknown arguments.

`clients` are callers that devlint adds. The client of a class of modules uses it as its authors intend:

1. it creates a module, with a free option for each parameter that is a choice;
2. it moves the module as a whole to the accelerator;
3. it calls `forward`, the steps of a trainer, and each public method that no other method calls, with the inputs on
   the accelerator. The attributes that another public method stores are unknown, because a user may have called it.

The client of a function calls it in the same way. The findings of a client name it as their entry, and say whether the
project asks for such a use: whether the class belongs to a library, and is moved if a program makes one. The verdict
gives them a lower level than those of a program.

Worked example. No code creates `Scale`. Its client moves a module to the accelerator, but `forward` adds a tensor on
the CPU:

    >>> from devlint.inference import check_text
    >>> check_text('''
    ... import torch
    ... class Scale(torch.nn.Module):
    ...     def forward(self, x):
    ...         return torch.relu(x) + torch.ones(3, device="cpu")
    ... ''')
    ['5: DEV103 `+`: the CPU, the GPU']
"""
