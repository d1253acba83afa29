"""What a call of a function does, in the terms of its parameters.

The summary of `def scale(x): return x * w` requires that `x` and `w` share a device, and returns a tensor on the
device variable `x`. `substitution` puts the devices of one call in the place of the variables: for `scale(y)` with `y`
on `cuda:0` the result is on `cuda:0`.

From the bottom up:

* `answers`: finds the summary for a call by the answers of the call to the questions of the called body.
* `roots`: which summaries the analysis of one file may take over from another.
* `substitution`: between a summary and its caller: abstract the arguments, put the devices back.
* `handed_over`: computes the devices of the arguments of one call, by place in the parameters, for `demand`.
* `device_free`: functions that have nothing to do with devices: one summary serves all their calls.
* `outcome`: what an execution left behind, and the summary made of it.
"""
