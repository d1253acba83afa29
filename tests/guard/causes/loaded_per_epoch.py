# names: teacher["logits"][index], teacher, logits, torch.load
import io

import torch
from torch import nn


def train(net, batches, file):
    teacher = torch.load(file)  # CAUSE
    # right: teacher = torch.load(file, map_location="cuda:0")
    for index, x in enumerate(batches):
        logits = net(x.cuda())
        nn.functional.kl_div(logits, teacher["logits"][index])


file = io.BytesIO()
torch.save({"logits": [torch.ones(2, 3)]}, file)
file.seek(0)
train(nn.Linear(3, 3).cuda(), [torch.ones(2, 3)], file)
