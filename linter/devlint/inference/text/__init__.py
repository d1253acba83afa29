"""Facts that the text of a body states, without an execution of it.

`captured` finds the variables that a function shares with the functions inside of it. Such a variable lives in an
*environment*, an object of the heap, because the inner function may run when the outer one has returned. All other
variables are names of the state. `operands` finds where the operands of operations stand, and the places that bind
their names; `members` finds the attributes that a class reads of itself.

Worked example. `scaled` reads `factor` of the function around it, so `factor` needs an environment; `x` and `y` do not:

    >>> from devlint.frontend.lower import lower
    >>> from devlint.inference.text.captured import captured, used_from_outside
    >>> file = lower('''
    ... def scaling(x, factor):
    ...     def scaled(y):
    ...         return y * factor
    ...     return scaled
    ... ''', "a.py")
    >>> scaling = file.body[0].function
    >>> scaled = scaling.body[0].function
    >>> sorted(captured(scaling, frozenset())), sorted(used_from_outside(scaled))
    (['factor'], ['factor'])
"""
