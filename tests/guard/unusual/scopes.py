# mypy: ignore-errors
# ruff: noqa
"""Scopes of grad and inference mode around, inside and across steps. Each part is a program, run behind this head."""

import contextlib

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train(count=1):
    for _ in range(count):
        optimizer.zero_grad()
        loss = net(torch.ones(4, 2)).square().mean()
        loss.backward()
        optimizer.step()
    return loss.item()


def infer(count=1):
    for _ in range(count):
        result = net(torch.ones(1, 2)) * 2 + torch.zeros(2)
    return result.tolist(), result.requires_grad, result.is_inference()


class Count(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


# --- a_sampler_decorated_with_inference_mode
@torch.inference_mode()
def sample():
    x = torch.zeros(1, 2)
    for _ in range(10):
        x = x - net(x) * torch.rand(1)
    return x


for epoch in range(3):
    print(train(3), sample().tolist())
print(infer(5))

# --- inference_mode_false_inside_of_inference_mode
with torch.inference_mode():
    print(infer(2))
    with torch.inference_mode(False):
        print(train(6), infer(6))
    print(infer(2))
print(infer(2), torch.zeros(2) + 1)


# --- inference_mode_inside_of_inference_mode
@torch.inference_mode()
def inner():
    return infer(7)


with torch.inference_mode():
    print(inner(), infer(2))
print(infer(2))

# --- inference_mode_that_is_never_left
torch.inference_mode().__enter__()
print(infer(10))


# --- inference_mode_left_in_another_function
def begin():
    scope = torch.inference_mode()
    scope.__enter__()
    return scope


scope = begin()
print(infer(8))
scope.__exit__(None, None, None)
print(infer(8), train(5))

# --- scopes_left_in_the_wrong_order
outer, inner = torch.inference_mode(), torch.no_grad()
outer.__enter__()
inner.__enter__()
print(infer(6))
outer.__exit__(None, None, None)
print(infer(6), torch.is_grad_enabled())
inner.__exit__(None, None, None)
print(infer(3), torch.is_grad_enabled())

# --- two_inference_modes_left_in_the_wrong_order
first, second = torch.inference_mode(), torch.inference_mode(False)
first.__enter__()
second.__enter__()
print(infer(6))
first.__exit__(None, None, None)
print(infer(6))
second.__exit__(None, None, None)
print(torch.zeros(2).is_inference(), infer(2))

# --- an_error_leaves_inference_mode
for _ in range(5):
    try:
        with torch.inference_mode():
            infer(2)
            net(torch.ones(1, 5))
    except RuntimeError as error:
        print(error)
    print(infer(2), train())


# --- a_generator_closed_inside_of_inference_mode
def batches():
    with torch.inference_mode():
        while True:
            yield net(torch.ones(1, 2))


one = batches()
for _ in range(7):
    next(one)
one.close()
print(infer(3), torch.is_inference_mode_enabled(), train(2))


# --- a_decorated_generator
@torch.inference_mode()
def batches():
    for index in range(10):
        yield net(torch.full((1, 2), float(index))), torch.is_inference_mode_enabled()


for batch in batches():
    print(batch, torch.is_inference_mode_enabled())
print(train(3))


# --- coroutines_suspended_inside_of_inference_mode
import asyncio


async def worker(name):
    seen = []
    for _ in range(4):
        with torch.inference_mode():
            seen.append(net(torch.ones(1, 2)).is_inference())
            await asyncio.sleep(0)
        seen.append(torch.is_inference_mode_enabled())
    return name, seen


async def main():
    print(await asyncio.gather(worker("a"), worker("b")))


asyncio.run(main())
print(torch.is_inference_mode_enabled())

# --- set_grad_enabled_as_a_function
torch.set_grad_enabled(False)
print(infer(5))
torch.set_grad_enabled(True)
print(train(5), infer(2))

# --- an_exit_stack_of_scopes
with contextlib.ExitStack() as stack:
    for scope in (torch.no_grad(), torch.inference_mode(), torch.enable_grad(), torch.inference_mode(False)):
        stack.enter_context(scope)
        print(infer(3), torch.is_grad_enabled(), torch.is_inference_mode_enabled())
print(infer(3), train(3))


# --- inference_mode_for_classes_of_functions
class Model:
    @torch.inference_mode()
    def predict(self, x):
        return net(x)

    @classmethod
    @torch.no_grad()
    def build(cls):
        return cls()


model = Model.build()
print([model.predict(torch.ones(1, 2)).tolist() for _ in range(6)])
print(Model.predict.__name__, train(2))

# --- inference_mode_given_a_function
f = torch.inference_mode(lambda x: net(x))
print([f(torch.ones(1, 2)).is_inference() for _ in range(6)], train(3))

# --- the_guard_of_cpp_used_directly
with torch._C._InferenceMode(True):
    print(infer(8))
print(infer(3), train(3))

# --- dispatch_below_autograd
with torch._C._AutoDispatchBelowAutograd():
    print(infer(8))
print(infer(3), train(3))

# --- autocast_across_steps
for _ in range(6):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(torch.ones(4, 2))
        print(out.dtype)
    optimizer.zero_grad()
    out.float().square().mean().backward()
    optimizer.step()
with torch.autocast("cpu", dtype=torch.bfloat16), torch.inference_mode():
    print(infer(8))
print(infer(2))

# --- a_mode_of_the_program_across_steps
with Count() as counted:
    print(train(6), infer(6))
print(counted.count, infer(2))

# --- a_mode_of_the_program_inside_of_inference_mode
with torch.inference_mode():
    with Count() as counted:
        infer(6)
    with Count() as again:
        infer(1)
print(counted.count, again.count, infer(2))
with Count() as last:
    infer(1)
print(last.count)

# --- inference_mode_inside_of_a_mode_of_the_program
with Count() as counted:
    with torch.inference_mode():
        infer(6)
    infer(1)
print(counted.count, infer(2))

# --- a_mode_of_the_program_that_spans_the_end_of_inference_mode
scope, mode = torch.inference_mode(), Count()
scope.__enter__()
infer(2)
mode.__enter__()
infer(2)
scope.__exit__(None, None, None)
infer(5)
mode.__exit__(None, None, None)
print(mode.count > 50, infer(2))

# --- a_function_mode_across_steps
from torch.overrides import TorchFunctionMode


class Names(TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


with Names() as names:
    infer(6)
    train(2)
print(sorted(set(names.seen)))

# --- an_optimizer_that_steps_in_backward
optimizers = {one: torch.optim.SGD([one], lr=0.1) for one in net.parameters()}


def step(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for parameter in net.parameters():
    parameter.register_post_accumulate_grad_hook(step)
for _ in range(6):
    net(torch.ones(4, 2)).square().mean().backward()
    print(infer(), torch.is_inference_mode_enabled())
with torch.inference_mode():
    print(infer(3))

# --- a_module_called_in_a_hook_of_backward
other = nn.Linear(2, 2)


def hook(grad):
    with torch.inference_mode():
        return other(grad).clone()


for _ in range(8):
    x = torch.ones(1, 2, requires_grad=True)
    y = x * 2
    y.register_hook(hook)
    net(y).sum().backward()
    print(x.grad.shape)

# --- inference_tensors_are_refused_outside
with torch.inference_mode():
    x = net(torch.ones(1, 2))
    infer(6)
try:
    train_x = net(x)
    train_x.sum().backward()
except RuntimeError as error:
    print(error)
try:
    x.add_(1)
except RuntimeError as error:
    print(error)

# --- threads_with_scopes_of_their_own
import threading

seen = {}


def work(name):
    with torch.inference_mode() if name % 2 else torch.no_grad():
        seen[name] = infer(6)


for _ in range(2):
    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    [one.start() for one in threads]
    [one.join() for one in threads]
    print(sorted(seen.items()), infer(3), torch.is_grad_enabled())

# --- training_in_a_thread
import threading

with torch.inference_mode():
    thread = threading.Thread(target=lambda: print(train(6)))
    thread.start()
    thread.join()
    print(infer(2))
print(infer(2))

# --- forward_mode_and_levels_of_func
from torch.func import functional_call, grad, jacrev, jvp, vmap

parameters = {name: one.detach() for name, one in net.named_parameters()}


def loss(values, x):
    return functional_call(net, values, (x,)).square().sum()


for _ in range(6):
    grads = vmap(grad(loss), in_dims=(None, 0))(parameters, torch.ones(3, 1, 2))
    print(sorted((name, one.shape) for name, one in grads.items()))
print(jvp(lambda x: net(x), (torch.ones(1, 2),), (torch.ones(1, 2),)), jacrev(net)(torch.ones(2)).shape)
print(infer(3))

# --- inference_mode_inside_of_vmap
from torch.func import vmap


def one(x):
    with torch.no_grad():
        return net(x)


for _ in range(6):
    print(vmap(one)(torch.ones(3, 2)).shape)
with torch.inference_mode():
    print(vmap(net)(torch.ones(3, 2)).shape, infer(4))
print(infer(2))

# --- checkpoints_inside_of_scopes
from torch.utils.checkpoint import checkpoint

for reentrant in (True, False):
    for _ in range(4):
        x = torch.ones(2, 2, requires_grad=True)
        checkpoint(net, x, use_reentrant=reentrant).sum().backward()
        print(x.grad.tolist())
        with torch.inference_mode():
            print(infer())

# --- the_guard_is_entered_and_left_in_different_scopes
from devlint_guard import guard

own = guard(net, mode="record")
with torch.inference_mode():
    own.__enter__()
    infer(2)
infer(2)
own.__exit__(None, None, None)
print(infer(2))
own.__enter__()
scope = torch.inference_mode()
scope.__enter__()
infer(2)
own.__exit__(None, None, None)
infer(2)
scope.__exit__(None, None, None)
print(infer(2), train(2), torch._C._len_torch_dispatch_stack() <= 1)
