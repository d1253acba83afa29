"""Operations on abstract values that no library and no function of the program is needed for.

`torch.ones(3).to("cuda")` is `Tensor(cuda:0)`: the domain (`devlint.domain`) says what such a value is, and this
package says what can be done with it. It collects the arguments of a call, takes elements from containers, finds the
device of a module, narrows a value on each side of a branch, and prints a value for people.

From the bottom up:

* `containers`: displays, subscripts, and unpacking.
* `modules`: what a module has registered, where it is, and how it changes place with the module.
* `narrowing`: what a condition proves on each side of a branch.
* `partial_batch_move`: parts of a batch that stay where they are, while others are moved.
* `arguments`: the arguments of one call, and their binding to the signature of a library.
* `objects`: objects that calls copy, or that code receives which nobody follows.
* `operands`: a value as one side of an operation, with what excuses it.
* `visible_devices`: CUDA_VISIBLE_DEVICES, and when CUDA has read it.
* `devices`: values that are used as devices: strings, ordinals, `torch.device`.
* `show`: values in the one notation of messages, `devlint facts` and `reveal_device`.
* `occurrences`: each value at its place in the source, for `devlint show` and the editor.
"""
