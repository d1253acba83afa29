# mypy: ignore-errors
# ruff: noqa
"""Modules with methods of their own where others have those of `Module`. Each part is a program, run behind this head."""

import copy
import gc
import inspect
import io
import pickle
import sys
import warnings
import weakref

import torch
from torch import nn

torch.manual_seed(0)
x = torch.ones(2, 2)


def train(net, count=5):
    optimizer = torch.optim.Adam(list(nn.Module.parameters(net)), lr=0.1)
    for _ in range(count):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        print(loss.item())


# --- parameters_takes_an_argument
class Net(nn.Linear):
    def parameters(self, group):
        return [self.weight] if group == "w" else [self.bias]


train(Net(2, 2))


# --- modules_and_children_have_another_meaning
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2)])
        self.modules = ["a", "b"]

    def children(self):
        raise TypeError("this network is childless")

    def buffers(self, depth, /):
        print("never called")

    def named_modules(self):
        return {}

    def forward(self, x):
        return self.layers[0](x)


train(Net())


# --- named_parameters_counts_its_calls
class Net(nn.Linear):
    calls = 0

    def named_parameters(self, *args, **kwargs):
        Net.calls += 1
        return super().named_parameters(*args, **kwargs)


train(Net(2, 2))
print(Net.calls)


# --- call_is_overridden
class Net(nn.Linear):
    def __call__(self, x, twice=False):
        result = super().__call__(x)
        return super().__call__(result) if twice else result


net = Net(2, 2)
train(net)
print(net(x, twice=True).shape)


# --- call_without_init
class Net(nn.Module):
    def __init__(self):
        pass

    def forward(self, x):
        return x


for _ in range(3):
    try:
        print(Net()(x))
    except AttributeError as error:
        print(error)


# --- getattribute_is_overridden
class Net(nn.Linear):
    seen = []

    def __getattribute__(self, name):
        type(self).seen.append(name)
        return super().__getattribute__(name)


net = Net(2, 2)
Net.seen.clear()
for _ in range(5):
    net(x)
    print(Net.seen)
    Net.seen.clear()


# --- setattr_is_refused
class Frozen(nn.Linear):
    def __setattr__(self, name, value):
        if getattr(self, "done", False):
            raise TypeError(f"{name} cannot be set")
        super().__setattr__(name, value)


net = Frozen(2, 2)
net.done = True
train(net)


# --- a_module_with_a_length_that_is_false
class Net(nn.Linear):
    def __len__(self):
        return 0

    def __bool__(self):
        return False

    def __eq__(self, other):
        return False

    __hash__ = nn.Module.__hash__


train(Net(2, 2))


# --- a_module_that_cannot_be_hashed
class Net(nn.Linear):
    __hash__ = None

    def forward(self, x):
        return super().forward(x)


net = Net(2, 2)
for _ in range(5):
    try:
        print(net(x).shape)
    except TypeError as error:
        print(error)


# --- a_module_whose_repr_raises
class Net(nn.Linear):
    def __repr__(self):
        raise RuntimeError("no text")


net = Net(2, 2)
train(net)
net(torch.ones(1, 3))


# --- slots_and_class_attributes
class Net(nn.Linear):
    __slots__ = ("extra",)
    device = property(lambda self: self.weight.device)


net = Net(2, 2)
net.extra = 3
train(net)
print(net.device, net.extra)

# --- parameters_in_a_table_of_another_kind
import collections


class Table(collections.UserDict):
    pass


net = nn.Linear(2, 2)
net._buffers = Table(net._buffers)
train(net)

# --- none_where_parameters_may_be
net = nn.Linear(2, 2, bias=False)
net.register_parameter("other", None)
net.register_buffer("table", None)
net.register_module("inner", None)
train(net)


# --- a_module_that_holds_itself
class Net(nn.Linear):
    def __init__(self):
        super().__init__(2, 2)
        self.__dict__["me"] = self
        self.others = [self, {"me": self}]


train(Net())

# --- call_is_what_it_is
call = nn.Module.__call__
print(call.__name__, call.__qualname__, call.__module__, call.__doc__, inspect.signature(call))
print(call is nn.Module._wrapped_call_impl, inspect.isfunction(call), call.__defaults__, call.__kwdefaults__)
net = nn.Linear(2, 2)
print(inspect.signature(net), net.__call__.__func__ is call, nn.Linear.__call__ is call)
print(inspect.getsource(call).splitlines()[0], inspect.unwrap(call).__code__.co_name)

# --- call_is_pickled
net = nn.Linear(2, 2)
for _ in range(5):
    net(x)
print(pickle.dumps(nn.Module.__call__) == pickle.dumps(nn.Module._wrapped_call_impl))
print(
    pickle.loads(pickle.dumps(net.__call__))(x).shape,
    pickle.loads(pickle.dumps(nn.Module.__call__)) is nn.Module.__call__,
)

# --- call_is_replaced_by_the_program
calls = []
original = nn.Module.__call__


def logged(self, *args, **kwargs):
    calls.append(type(self).__name__)
    return original(self, *args, **kwargs)


net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
nn.Module.__call__ = logged
train(net)
nn.Module.__call__ = original
train(net, 2)
print(calls)


# --- call_is_replaced_for_one_class
class Net(nn.Linear):
    pass


original = Net.__call__
Net.__call__ = lambda self, x: original(self, x) * 2
train(Net(2, 2))

# --- forward_is_replaced_on_an_instance
net = nn.Linear(2, 2)
forward = net.forward
net.forward = lambda x: forward(x) + 1
train(net)
del net.forward
train(net, 1)

# --- hooks_of_optimizers_in_order
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

seen = []
register_optimizer_step_pre_hook(lambda o, a, k: seen.append("all before"))
register_optimizer_step_post_hook(lambda o, a, k: seen.append("all after"))
net = nn.Linear(2, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
optimizer.register_step_pre_hook(lambda o, a, k: seen.append("before"))
optimizer.register_step_post_hook(lambda o, a, k: seen.append("after"))
for _ in range(5):
    net(x).sum().backward()
    optimizer.step()
print(seen)


# --- hooks_with_keyword_arguments_and_always_call
class Net(nn.Module):
    def forward(self, x, *, scale=1):
        if scale == 3:
            raise ValueError("three")
        return x * scale


net = Net()
net.register_forward_pre_hook(lambda m, a, k: (a, {**k, "scale": k["scale"] + 1}), with_kwargs=True)
net.register_forward_hook(lambda m, a, o: print("hook", o if o is None else o.sum()), always_call=True)
for scale in (1, 2, 1, 2):
    try:
        print(net(x, scale=scale).sum())
    except ValueError as error:
        print("raised", error)


# --- modules_end_when_they_are_dropped
class Net(nn.Linear):
    def __del__(self):
        print("gone", self.name)


for index in range(6):
    net = Net(2, 2)
    net.name = index
    net(x)
    print("made", index)
del net
print("the end")

# --- what_an_error_holds_ends_with_it
net = nn.Linear(2, 2)
reference = weakref.ref(net)
try:
    net(torch.ones(2, 3))
except RuntimeError as error:
    print(str(error).splitlines()[0])
del net
print(reference() is None)


# --- errors_and_their_frames
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x):
        try:
            return self.inner(torch.ones(1, 5))
        except RuntimeError as error:
            raise ValueError("wrapped") from error


Net()(x)


# --- the_stack_inside_of_a_module
class Net(nn.Module):
    def forward(self, x):
        names = [frame.function for frame in inspect.stack()]
        print(names.index("<module>"), names[0], sys._getframe(3).f_code.co_name, sys._getframe(3).f_lineno)
        return x


net = Net()
for _ in range(5):
    net(x)


# --- how_deep_modules_nest
class Net(nn.Module):
    def forward(self, n):
        return 1 + self(n - 1) if n else 0


net = Net()
low, high = 1, 1000
while low < high:
    middle = (low + high + 1) // 2
    try:
        net(middle)
        low = middle
    except RecursionError:
        high = middle - 1
print(low)


# --- a_low_limit_of_recursion
class Net(nn.Module):
    def forward(self, n):
        return 1 + self(n - 1) if n else 0


frame, depth = sys._getframe(), 0
while frame:
    frame, depth = frame.f_back, depth + 1
sys.setrecursionlimit(depth + 120)
for n in (5, 10, 20, 25):
    print(Net()(n))
try:
    Net()(200)
except RecursionError as error:  # where just it has no room left, its text says
    print(type(error))


# --- warnings_at_the_line_that_calls
class Net(nn.Module):
    def forward(self, x):
        warnings.warn("from here", stacklevel=1)
        warnings.warn("two up", stacklevel=2)
        warnings.warn("three up", stacklevel=3)
        warnings.warn("the caller's", stacklevel=4)
        return x


net = nn.Sequential(Net())
for _ in range(5):
    Net()(x)
    net(x)


# --- warnings_as_errors
warnings.simplefilter("error")
net = nn.Linear(2, 2)
train(net)
try:
    nn.functional.mse_loss(torch.ones(2), torch.ones(2, 1))
except UserWarning as error:
    print(error)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    net(x)
    torch.nn.MSELoss()(torch.ones(2), torch.ones(2, 1))
print(len(seen), [one.filename == __file__ for one in seen])

# --- parametrized_and_pruned
from torch.nn.utils import parametrizations, prune

net = parametrizations.orthogonal(nn.Linear(2, 2))
train(net)
other = nn.Linear(2, 2)
prune.l1_unstructured(other, "weight", amount=0.5)
train(other)
print(type(net).__name__, sorted(vars(other)))


# --- a_metaclass_that_counts_calls
class Meta(type):
    made = 0

    def __call__(cls, *args, **kwargs):
        Meta.made += 1
        return super().__call__(*args, **kwargs)


class Net(nn.Linear, metaclass=Meta):
    pass


for _ in range(4):
    train(Net(2, 2), 1)
print(Meta.made)


# --- a_module_is_called_by_its_own_constructor
class Net(nn.Linear):
    def __init__(self):
        super().__init__(2, 2)
        self.first = self(x).detach()


for _ in range(4):
    net = Net()
    print(net.first.shape)
train(net)
