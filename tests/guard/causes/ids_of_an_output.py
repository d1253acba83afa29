# names: net(x), output, target, y, device_ids, output_device
import torch
from torch import nn

net = nn.DataParallel(nn.Linear(3, 3).cuda(), device_ids=[0, 1], output_device=1)  # CAUSE
# right: net = nn.DataParallel(nn.Linear(3, 3).cuda(), device_ids=[0, 1], output_device=0)
x, y = torch.ones(4, 3).cuda(), torch.ones(4, 3).cuda()
for _ in range(2):
    output = net(x)
    nn.functional.mse_loss(output, y).backward()
