"""What a guard looks at while a program runs.

* `entry`: the device of a module, and of what it is called with.
* `compiled`: where compiled code runs, beside which older releases of torch let no guard look on.
* `interpose`: takes the place of `nn.Module.__call__`.
* `regimes`: which operators PyTorch itself checks.
* `steps`: counts training steps.
* `all_on_cpu`: whether all tensors are on the CPU, so that a mode may step aside.
* `scopes`: switches dispatch modes on and off inside of scopes that restore them.
* `unseen`: functions of PyTorch that do not work under a mode.
* `conflicts`: the finding on an operator's operands.
* `sentences`: the finding on a module's call.
* `operators`: a dispatch mode that compares the operands of each operator.
* `ledger`: copies and synchronisations, by line.
* `audit`: modules, before they are called.
* `optimizers`: an optimizer's tensors, before its step.
* `layers`: switches these on and off.
* `snapshot`: the modules and their devices, for a report.
* `active`: the guards that are on, and what they share.
"""
