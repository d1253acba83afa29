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
* `pytorch_messages`: the words of PyTorch for two operands that do not go together.
* `unregistered_members`: modules and parameters in plain lists, tuples and dicts.
* `unregistered_tensor`: plain attributes, which no move of the module reaches.
* `recovery`: the values behind a reported conflict.
* `conflicts`: operands, indices, generators and reads by the host that do not go together, a parameter among them.
"""
