"""What can go wrong: each file decides one kind of mistake, and records it as a fact.

A transfer function hands over the operands; a file of this package judges them. For `x + torch.ones(3)` with `x` on
`cuda:0`, `conflicts.find` gets two operands, finds that neither is excused (a tensor without dimensions would be), and
records a `Conflict` with the history of both. Where one device is that of a parameter, `conflicts` records a
requirement for the callers.

From the bottom up:

* `client`: evidence that a value is on an accelerator when the program is used on one.
* `device_not_forwarded`: modules that are built without the device that their builder was given.
* `discarded`: moves whose result is thrown away.
* `host_waits`: reads and copies for which the host waits for the device, and tensors that are created and then moved
  at once; no conflicts.
* `partial_move`: values that one path moves and another path does not.
* `pytorch_messages`: the words of PyTorch for two operands that do not go together.
* `unmoved_module`: modules that nothing moves, and whose inputs go to a chosen device.
* `unregistered_members`: modules and parameters in plain lists, tuples and dicts.
* `cpu_result_on_one_path`: functions that return a CPU tensor on one of their paths.
* `in_place_accumulation`: totals on one device to which values of another device are added.
* `unregistered_tensor`: plain attributes, which no move of the module reaches.
* `recovery`: the values behind a reported conflict.
* `conflicts`: operands, indices, generators and reads by the host that do not go together, a parameter among them;
  it decides every kind of `Conflict` but the three of the files below it and `cpu_result_on_one_path`.
* `cpu_layer_in_wrapper`: layers that are built beside a module which may have been placed.
* `unknown_operand`: CPU tensors that meet an unknown value; a parameter is none, since it has a device variable.
* `escaping_cpu_tensor`: CPU tensors that leave the function that made them.
"""
