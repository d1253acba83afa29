"""Programs for Macs and for Intel GPUs, with what PyTorch's documentation and sources say that they do.

`#>` stands before what a line prints, TYPE for `mps` or `xpu`, and `kind` gives the first letter of an error's class.
"""

from __future__ import annotations

import re
import traceback

import pytest

pytest.importorskip("torch")

from devlint_guard.rehearsal import rehearse
from devlint_guard.rehearsal.verdict import would_raise

from tests.conftest import since

BEGINNING = """\
import io, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
def kind(f):
    try:
        f()
        return "fine"
    except (AssertionError, RuntimeError, TypeError) as error:
        return type(error).__name__[0]
b = torch.ones(2, 2)
"""

ANY = """\
device = torch.accelerator.current_accelerator()
print(device, device.index, torch.accelerator.device_count() > 0, torch.cuda.is_available())  #> TYPE None True False
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)).to(device)
for x, y in DataLoader(TensorDataset(torch.randn(4, 8), torch.arange(4) % 2), batch_size=4, pin_memory=True):
    with torch.autocast("TYPE"):
        out = net(x.to(device))
    nn.functional.cross_entropy(out, y.to(device)).backward()
    torch.optim.AdamW(net.parameters()).step()
print(out.dtype, x.device, out.detach().cpu().numpy().shape)  #> torch.float16 cpu (4, 2)
torch.save(net.state_dict(), file := io.BytesIO())
file.seek(0)
with torch.device("TYPE"):
    print(torch.ones(2), torch.load(file)["0.weight"].device)  #> tensor([1., 1.], device='TYPE:0') TYPE:0
a, g = b.to(device), torch.Generator("TYPE")
print(g.device.type, torch.rand(2, device="TYPE", generator=g).is_TYPE, a.is_cuda)  #> TYPE True False
print(kind(lambda: a + b), kind(lambda: a @ b), kind(lambda: a.masked_fill(b > 0, 0.0)))  #> R R R
print(kind(lambda: a[torch.tensor([0])]), kind(lambda: a + b.sum()), kind(lambda: b.copy_(a)))  #> fine fine fine
print(kind(lambda: torch.rand(2, device=device, generator=torch.Generator())), kind(torch.cuda.current_device))  #> R A
"""

ON_MPS = """\
print(torch.backends.mps.is_built(), torch.backends.mps.is_available(), torch.mps.device_count())  #> True True 1
x = torch.ones(3, device="mps")
print((x / 2).dtype, (x * torch.tensor(2.0, dtype=torch.float64)).dtype)  #> torch.float32 torch.float32
print(kind(x.double), kind(x.half), kind(b.xpu), kind(b.pin_memory))  #> T fine A R
print(kind(lambda: torch.heaviside(x, x)), torch.mps.current_allocated_memory() >= 12)  #> N True
"""

ON_XPU = """\
torch.xpu.set_device(1)
x = torch.ones(4).xpu()
print(x.device, x.double().device, nn.Linear(1, 1).xpu().weight.device)  #> xpu:1 xpu:1 xpu:1
with torch.xpu.device(0):
    print(b.xpu().device, torch.xpu.memory_allocated(1) >= 16, b.pin_memory().is_pinned())  #> xpu:0 True True
print(kind(lambda: torch.xpu.set_device(2)), kind(lambda: b.to("mps")), kind(lambda: x @ x.to("xpu:0")))  #> R R R
"""

WRONG = {
    "nn.Linear(2, 4).to('mps')(b)": "RuntimeError: Tensor for argument input is on cpu but expected on mps",
    "nn.functional.mse_loss(b.to('mps'), b)": "found at least two devices, mps:0 and cpu!",
    "b.double().to(torch.device('mps'))": "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS",
    "nn.Linear(4, 2).to('mps').cuda()": "AssertionError: Torch not compiled with CUDA enabled",
    "b.to('mps').numpy()": "TypeError: can't convert mps:0 device type tensor to numpy. Use Tensor.cpu() to",
    "nn.Linear(2, 4).xpu()(b)": "got mat1 is on cpu, different from other tensors on xpu:0 (when checking argument",
    "b.to('xpu:0') + b.to('xpu:1')": "found at least two devices, xpu:0 and xpu:1!",
    "b.to('xpu:0')[torch.tensor([0]).to('xpu:1')]": "on the same device as the indexed tensor (xpu:0)",
    "torch.zeros(4, device='xpu:2')": "The device index is out of range. It must be in [0, 2), but got 2.",
    "b.xpu().to('cuda:0')": "AssertionError: Torch not compiled with CUDA enabled",
}


@since(2, 6)  # the programs ask `torch.accelerator`
@pytest.mark.parametrize(("name", "devices", "own"), [("mps", 1, ON_MPS), ("xpu", 2, ON_XPU)])
def test_a_program_prints_what_it_would_print_there(
    name: str, devices: int, own: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = (BEGINNING + ANY + own).replace("TYPE", name)
    with rehearse(devices, name):
        exec(program, {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"#> (.*)", program)


@pytest.mark.parametrize(("line", "says"), WRONG.items())
def test_a_wrong_program_raises_what_it_would_raise_there(line: str, says: str) -> None:
    name = "mps" if "mps" in line else "xpu"
    with rehearse(1 if name == "mps" else 2, name):
        with pytest.raises((RuntimeError, TypeError, AssertionError)) as caught:
            exec(BEGINNING + line, {})
        assert would_raise(caught.value)
    assert [place.lineno for place in traceback.extract_tb(caught.tb)][1] == BEGINNING.count("\n") + 1
    assert says in f"{type(caught.value).__name__}: {caught.value}".replace("PyTorch would refuse: ", "")
