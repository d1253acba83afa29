"""The state of an execution: names, the heap, and what follows from both.

`frame` is one execution of a body: what holds now, what it has asked its caller, and what it will tell. `heap` holds
what objects hold, by object and field; where two paths meet, the fields are joined under the test that chose. `where`
answers where a value is, `moves` moves modules as a whole, `containers` knows lists and dictionaries.

Worked example. A list that one path fills and another one does not:

    >>> from devlint.inference.state.heap import Heap
    >>> from devlint.inference.values.objects import LIST, instance, site
    >>> from devlint.inference.values.tensors import CPU, pack, tensor
    >>> from devlint.inference.values.terms import ELEMENT, ITEMS, PARAMETER, root
    >>> made = instance(site("body", (1, 0, 1, 2)), LIST)
    >>> one, two = Heap(), Heap()
    >>> one.put(made, ITEMS, pack(tensor(CPU)))
    >>> two.put(made, ITEMS, pack())
    >>> whole = one.joined(two, root(PARAMETER, "fast"))
    >>> whole.get(made, ITEMS), whole.get(made, ELEMENT)
    (None, tensor(device cpu, <unknown>, None, None))
"""
