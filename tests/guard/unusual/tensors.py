# mypy: ignore-errors
# ruff: noqa
"""Tensors of subclasses, modes, transforms, compilers and gradients. Each part is a program, run behind this head."""

import copy
import pickle
import warnings

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))
x = torch.ones(4, 2)


def train(count=5, net=net, x=x):
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    for _ in range(count):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
    print(loss)


# --- a_subclass_made_of_a_list
class T(torch.Tensor):
    pass


print(T([1.0]), T(2).shape, type(T(torch.ones(2))), T([[1, 2]]).dtype)
train()
print(T([1.0]) + 1, copy.deepcopy(T([2.0])), pickle.loads(pickle.dumps(T([3.0]))))


# --- a_subclass_made_by_the_constructor_of_tensor
class T(torch.Tensor):
    @staticmethod
    def make(data):
        return torch.Tensor.__new__(T, data)


print(
    T.make([1.0, 2.0]), torch.Tensor([1.0]), torch.Tensor(2, 3).shape, torch.FloatTensor([1.0]), torch.LongTensor([1])
)
train(4)
print(T.make([1.0, 2.0]), torch.Tensor.__new__ is torch.Tensor.__new__)

# --- a_subclass_made_under_a_mode_of_the_program
from torch.utils._python_dispatch import TorchDispatchMode


class T(torch.Tensor):
    pass


class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


with Mode():
    try:
        print(T([1.0]))
    except RuntimeError as error:
        print(error)
print(T([1.0]))


# --- a_subclass_with_torch_function
class T(torch.Tensor):
    seen = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs)


one = x.as_subclass(T)
for _ in range(5):
    net(one).sum().item()
print(T.seen)


# --- no_subclass_but_torch_function
class Duck:
    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        args = [one.value if isinstance(one, Duck) else one for one in args]
        return Duck(func(*args, **(kwargs or {})))


for _ in range(5):
    print(net[0](Duck(x)).value.shape)

# --- a_wrapper_with_torch_dispatch
from torch.utils._pytree import tree_map


class W(torch.Tensor):
    seen = []

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

    def __init__(self, inner):
        self.inner = inner

    def __repr__(self):
        return f"W({self.inner})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        args, kwargs = tree_map(lambda one: one.inner if isinstance(one, W) else one, (args, kwargs or {}))
        return tree_map(lambda one: W(one) if isinstance(one, torch.Tensor) else one, func(*args, **kwargs))


for _ in range(5):
    print(net(W(x)).inner.shape)
print(W.seen)


# --- a_wrapper_inside_of_inference_mode
class W(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*(one.inner if isinstance(one, W) else one for one in args), **(kwargs or {}))


@torch.inference_mode()
def run():
    return [(net(x).sum() + W(x).sum()).item() for _ in range(6)]


print(run(), (W(x) * 2).sum())

# --- fake_tensors
from torch._subclasses.fake_tensor import FakeTensorMode

for _ in range(3):
    with FakeTensorMode() as mode:
        print(nn.Linear(2, 2)(torch.ones(1, 2)))
    train(2)
with FakeTensorMode(allow_non_fake_inputs=True), torch.inference_mode():
    print([net(torch.ones(1, 2)).shape for _ in range(5)])
print(net(x).shape)

# --- flops_are_counted
from torch.utils.flop_counter import FlopCounterMode

for _ in range(3):
    with FlopCounterMode(display=False) as flops:
        train(2)
    print(flops.get_total_flops())

# --- a_mode_made_without_super
from torch.utils._python_dispatch import TorchDispatchMode


class Mode(TorchDispatchMode):
    def __init__(self):
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


for _ in range(2):
    with Mode() as mode:
        train(4)
    print(mode.count)
train(2)

# --- modules_inside_of_a_mode_of_the_program
from torch.utils._python_dispatch import TorchDispatchMode

other = nn.Linear(2, 2)


class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.tanh.default:
            print("inside", other(torch.ones(1, 2)).shape)
        return func(*args, **(kwargs or {}))


with Mode():
    for _ in range(6):
        net(x)
print(net(x).shape)

# --- an_operator_of_the_programs_own_that_calls_modules
other = nn.Linear(2, 2)


@torch.library.custom_op("unusual::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode(False):
        return other(x).detach() * 2


for _ in range(6):
    print(twice(torch.ones(1, 2)).shape, net(x).shape)
with torch.inference_mode():
    print([twice(torch.ones(1, 2)).shape for _ in range(6)])
print(net(x).shape)


# --- functions_with_gradients_of_their_own
class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        print("forward", torch.is_grad_enabled())
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        print("backward", torch.is_grad_enabled(), net(x.detach()).requires_grad)
        return grad * x


for _ in range(5):
    one = torch.full((1, 2), 1.6, requires_grad=True)
    Round.apply(one).sum().backward()
    print(one.grad)

# --- saved_tensors_packed_by_hooks
packed = []


def pack(one):
    packed.append(one.shape)
    return one.detach().clone()


for _ in range(5):
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda one: one * 1):
        loss = net(x.clone().requires_grad_()).sum()
    loss.backward()
print(packed)
with torch.autograd.graph.save_on_cpu():
    train(3)

# --- anomalies_are_detected
with torch.autograd.set_detect_anomaly(True):
    train(3)
    one = torch.zeros(2, requires_grad=True)
    try:
        (one.sqrt() * 0).sum().backward()
        (one / one).sum().backward()
    except RuntimeError as error:
        print(error)

# --- the_graph_is_the_same
y = net(x.clone().requires_grad_())


def names(node, depth=0):
    if node is not None and depth < 8:
        yield type(node).__name__, depth
        for below, _ in node.next_functions:
            yield from names(below, depth + 1)


for _ in range(3):
    y = net(x.clone().requires_grad_())
    z = y[:, 0]
    z.mul_(2)
    print(list(names(y.grad_fn)), list(names(z.grad_fn)))
    train(2)

# --- identities_of_results
one = torch.ones(2)
for _ in range(3):
    print(one.add_(1) is one, torch.add(one, 1, out=one) is one, one.detach() is one, one.to(torch.float32) is one)
    print(one.view(2)._base is one, one._version, one.data_ptr() == one.view(2).data_ptr(), one.contiguous() is one)
    train(2)

# --- attributes_of_tensors
one = torch.ones(2, requires_grad=True)
one.label = "here"
for _ in range(3):
    print(one.label, one.detach().__dict__, one.grad_fn, (one + 1).grad_fn.name(), sorted(vars(one)))
    train(2)

# --- tensors_end_when_they_are_dropped
import weakref

for _ in range(4):
    one = torch.ones(2) + 1
    two = one.view(2).detach()
    references = [weakref.ref(one), weakref.ref(two)]
    weakref.finalize(one, print, "gone")
    del one, two
    print([ref() is None for ref in references])
    train(1)

# --- sparse_nested_quantized_and_complex
warnings.simplefilter("ignore")
for _ in range(3):
    print(torch.eye(2).to_sparse() @ torch.ones(2, 2), torch.eye(2).to_sparse_csr().values())
    print(torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]).unbind())
    print(torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8))
    print(
        torch.complex(torch.ones(1), torch.ones(1)).conj().is_conj(),
        torch.view_as_real(torch.ones(1, dtype=torch.cfloat)),
    )
    train(2)

# --- warnings_of_operators
for _ in range(5):
    out = torch.empty(3)
    torch.add(torch.ones(2), 1, out=out)
    nn.functional.mse_loss(torch.ones(2), torch.ones(2, 1))
    net(x)
print(torch.tensor(torch.ones(1)).shape)

# --- errors_of_operators
for operation in (
    lambda: torch.ones(2) @ torch.ones(3),
    lambda: torch.ones(2)[5],
    lambda: torch.ones(2).view(7),
    lambda: torch.cat([torch.ones(2), torch.ones(1, 2)]),
    lambda: torch.ones(2).backward(),
    lambda: torch.zeros(2, dtype=torch.long).mean(),
    lambda: torch.ones(2, requires_grad=True).add_(1),
    lambda: torch.ones(2).item(),
    lambda: torch.tensor("text"),
    lambda: torch.ones(2) + "text",
    lambda: torch.linalg.inv(torch.zeros(2, 2)),
    lambda: nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([5, 0])),
    lambda: torch.empty(-1),
    lambda: bool(torch.ones(2)),
):
    try:
        print(operation())
    except Exception as error:
        print(type(error).__mro__[0], str(error).split("Exception raised")[0], getattr(error, "__notes__", None))
torch.ones(2) @ torch.ones(3)

# --- a_default_device
torch.set_default_device("cpu")
train(4)
torch.set_default_device(None)
with torch.device("meta"):
    print(nn.Linear(2, 2)(torch.ones(1, 2)).device, torch.zeros(2).device)
with torch.device("meta"), torch.inference_mode():
    print([nn.Linear(2, 2)(torch.ones(1, 2)).device for _ in range(5)])
train(3)

# --- compiled_without_a_backend
frames = []


def backend(graph, inputs):
    frames.append(graph)
    return graph


compiled = torch.compile(net, backend=backend)
for _ in range(6):
    print(compiled(x).sum())
with torch.inference_mode():
    print([compiled(x).sum() for _ in range(3)])
train(2)
print(len(frames))

# --- compiled_with_inference_mode_inside
frames = []


def backend(graph, inputs):
    frames.append(graph)
    return graph


@torch.compile(backend=backend)
def run(x):
    with torch.no_grad():
        y = net(x)
    torch._dynamo.graph_break()
    with torch.inference_mode():
        return net(y).sum() + 1


for _ in range(6):
    print(run(x).item())
print(len(frames), net(x).shape)

# --- methods_of_tensors_are_what_they_are
import inspect

for _ in range(4):
    print(torch.Tensor.to.__name__, torch.Tensor.cuda.__name__, torch.Tensor.to.__doc__ is not None)
    print(inspect.signature(nn.Module._apply), nn.Module._apply.__qualname__, torch.ctc_loss.__name__)
    print(torch.inference_mode.__enter__.__qualname__, inspect.signature(torch.inference_mode.__exit__))
    train(1)

# --- moved_tensors_and_modules
for _ in range(4):
    y = x.to("meta")
    print(y.device, nn.Linear(2, 2).to("meta").weight.device, x.cpu() is x, x.to(y.dtype) is x)
    print(nn.Linear(2, 2, device="meta").to_empty(device="cpu").weight.shape, x.type(torch.float64).dtype)
    train(1)

# --- a_profiler_is_on
from torch.profiler import profile

with profile() as run:
    train(5)
names = {event.key for event in run.key_averages()}
print("aten::addmm" in names, any("devlint" in name for name in names))

# --- an_optimizer_with_a_closure
optimizer = torch.optim.LBFGS(net.parameters())


def closure():
    optimizer.zero_grad()
    loss = net(x).square().sum()
    loss.backward()
    return loss


for _ in range(5):
    print(optimizer.step(closure) is not None)


# --- an_optimizer_of_the_programs_own
class Own(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1})
        self.state = {}

    def step(self, closure=None, *, scale=1):
        with torch.no_grad():
            for group in self.param_groups:
                for one in group["params"]:
                    one -= group["lr"] * scale * one.grad
        return "stepped"


optimizer = Own(net.parameters())
for _ in range(6):
    net(x).sum().backward()
    print(optimizer.step(scale=2))


# --- an_optimizer_whose_step_raises
class Own(torch.optim.SGD):
    def step(self, closure=None):
        super().step(closure)
        raise ArithmeticError("no convergence")


optimizer = Own(net.parameters(), lr=0.1)
for _ in range(6):
    net(x).sum().backward()
    try:
        optimizer.step()
    except ArithmeticError as error:
        print(error)
train(2)

# --- losses_and_their_lengths
lengths = torch.tensor([3]), torch.tensor([2])
for _ in range(5):
    scores = torch.randn(3, 1, 5).requires_grad_()
    loss = nn.CTCLoss()(scores.log_softmax(-1), torch.tensor([[1, 2]]), *lengths)
    loss.backward()
    print(loss, scores.grad.shape)

# --- attention_and_recurrence
layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
lstm = nn.LSTM(4, 4, batch_first=True)
for _ in range(4):
    print(layer(torch.ones(1, 2, 4)).shape, lstm(torch.ones(1, 2, 4))[0].shape)
layer.eval()
with torch.inference_mode():
    print([layer(torch.ones(1, 2, 4)).shape for _ in range(5)])
print(layer(torch.ones(1, 2, 4)).shape)
