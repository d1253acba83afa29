"""Knowledge about libraries: the result, the requirements and the effects of each of their functions.

A signature of `devlint.torchlib` describes most functions. `signatures` finds the first overload that takes the
arguments of a call, requires that its tensors share a device, and computes the device and the rank of the result
(`rank_words`).

A function with another behaviour has a *handler*, which `@handles("torch.load")` registers in `table` by name. A
handler receives one `CallSite`; it may return a value, require something, or move objects. The handlers stand together
by topic: `containers`, `tensors`, `modules`, `machines`, `loading`, `optimizers`, `parallel`, `trainers`, and `python`
for the standard library. `known` imports them all.

Worked example. A signature describes `torch.cat`; handlers describe `list.append` and `torch.cuda.is_available`:

    >>> from devlint.inference.libraries import known
    >>> from devlint.inference.libraries.table import function_handler
    >>> function_handler("torch.cat") is None, function_handler("torch.cuda.is_available") is None
    (True, False)
    >>> from devlint.inference import check_text
    >>> check_text('''
    ... import torch
    ... parts = [torch.ones(3, device="cpu")]
    ... if torch.cuda.is_available():
    ...     parts.append(torch.ones(3, device="cuda:0"))
    ...     torch.cat(parts)
    ... ''')
    ['6: DEV101 `torch.cat`: the CPU, the GPU']
"""
