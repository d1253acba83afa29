"""Summaries: the outcome of a body, for all callers that answer its questions alike.

`make` executes a body with symbols and collects its outcome: the returned value, the effects on passed objects, the
fields of new objects, the latent requirements, and the symbols that are proved to be tensors.

An execution may ask its caller: does this test hold, which code is this callee, how many elements has this list? The
answers distinguish the *cases* of a body. Two callers with the same answers share one execution, even if they hand over
tensors on different devices. `tree` keeps the cases of a body as a tree of questions, and `cases` finds the case of a
caller.

A recursive call gets a provisional summary, at first one that never returns. The body is executed in rounds until the
summary no longer changes; after `MOST_ROUNDS` rounds, the result is unknown.

Worked example. `moved` is recursive. For a caller that does not know `n`, the first round only has the result for
`n == 0`, which is `x`. The next round adds the result of the recursive call: `x` if `n == 0`, else a tensor on
`cuda:0`. The caller here knows `n`, and gets the case of three recursive calls:

    >>> from devlint.inference import check_text
    >>> check_text('''
    ... import torch
    ... def moved(n, x):
    ...     if n == 0:
    ...         return x
    ...     return moved(n - 1, x.to("cuda:0"))
    ... moved(3, torch.ones(3)) + torch.ones(3, device="cpu")
    ... ''')
    ['7: DEV101 `+`: the CPU, the GPU']
"""
