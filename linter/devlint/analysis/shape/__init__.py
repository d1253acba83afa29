"""What the objects of a class are, when nobody is known to have made one.

For the methods of

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.ones(3)

`self_object` executes `__init__` with a new object. Its attribute `scale` is a plain tensor on the CPU, so that
`model.to("cuda")` leaves it there; a buffer would be on the device of `self`.

From the bottom up:

* `self_object`: `self` as `__init__` leaves it.
* `attribute_stores`: what the other methods store in it.
"""
