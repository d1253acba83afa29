"""What a guard looks at while a program runs.

* `entry`: the device of a module, and of what it is called with.
* `interpose`: takes the place of `nn.Module.__call__`.
* `regimes`: which operators PyTorch itself checks.
* `steps`: counts training steps.
* `all_on_cpu`: whether all tensors are on the CPU, so that a mode may step aside.
* `scopes`: switches dispatch modes on and off inside of scopes that restore them.
* `unseen`: functions of PyTorch that do not work under a mode.
* `sentences`: the finding on a module's call.
* `operators`: a dispatch mode that compares the operands of each operator, and the finding on them.
* `ledger`: copies and synchronisations, by line.
* `audit`: modules, before they are called, and the tensors of an optimizer, before its step.
* `layers`: switches these on and off.
* `snapshot`: the modules and their devices, for a report.
* `active`: the guards that are on, and what they share; where compiled code runs, if no guard can look on beside it.
"""
