# names: weight, weights, torch.load
import io

import torch


def apply(x, file):
    weights = torch.load(file)  # CAUSE
    # right: weights = torch.load(file, map_location=x.device)
    for weight in weights:
        x = x @ weight
    return x


file = io.BytesIO()
torch.save([torch.ones(3, 3), torch.ones(3, 3)], file)
file.seek(0)
apply(torch.ones(2, 3).cuda(), file)
