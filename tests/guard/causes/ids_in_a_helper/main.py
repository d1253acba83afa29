# names: model, net, wrapped, device_ids
import torch
from parallel import wrap
from torch import nn

device = "cuda:0"
model = wrap(nn.Linear(3, 3).to(device))
x, y = torch.ones(4, 3, device=device), torch.ones(4, 3, device=device)
nn.functional.mse_loss(model(x), y).backward()
