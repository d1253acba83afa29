"""What libraries do. Most is a signature of `devlint.torchlib`, which `signatures` applies to the arguments of a call.

What no signature can say is a function of this package that `@handles(...)` registers: it gets one `CallSite`, and
answers a value, requires, or moves. `table` has both kinds of knowledge by name; there is no other table.
"""
