"""The state of an execution: the local variables, and the heap with the fields of objects.

`frame` is one execution of a body: its state, its questions with their answers, and its outcome so far; `summary` is
the outcome at the end. `demand` notes what the project's own code calls, makes and moves. `heap` has the
fields by object; where two paths meet, it joins the fields under the test that chose the path. `where` computes the
device, the rank and the source of a value, `moves` moves whole modules, and `containers` reads and writes lists and
dictionaries.

Worked example. One path puts a tensor into a list, the other path leaves the list empty. The join does not know the
number of elements, but it knows that any element is a tensor on the CPU:

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
