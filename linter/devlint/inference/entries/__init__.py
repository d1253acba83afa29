"""Entries: the last callers. An entry hands over values in place of symbols, and judges the requirements that remain.

Each file is an entry by itself: a program, whose global variables hold concrete values. `solve` is the entry for a body
that no code of the project calls; it only gives values to global variables. `module_client` is the entry for a class of
modules that no code of the project creates. The client is a caller that devlint adds, and it uses the class as its
authors intend:

1. it creates a module, with a free option for each parameter that is a choice;
2. it moves the module as a whole to the accelerator;
3. it calls `forward`, or the steps of a trainer, with inputs on the accelerator.

The findings of a client name it as their entry, and the verdict gives them a lower certainty than those of a program.

Worked example. No code creates `Scale`. Its client moves a module to the accelerator, but `forward` adds a tensor on
the CPU:

    >>> from devlint.inference import check_text
    >>> check_text('''
    ... import torch
    ... class Scale(torch.nn.Module):
    ...     def forward(self, x):
    ...         return torch.relu(x) + torch.ones(3, device="cpu")
    ... ''')
    ['5: DEV103 `+`: tensor on accelerator, tensor on cpu']
"""
