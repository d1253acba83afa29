import sys
from types import SimpleNamespace

import torch
from torch import nn


def configure():
    return SimpleNamespace(
        device=torch.device("cuda" if torch.cuda.is_available() else "cpu"),
        rate=0.1,
        prior=torch.tensor([0.2, 0.3, 0.5]),
        calibrate="--take" in sys.argv,
    )


def predict(model, x, cfg):
    logits = model(x)
    if cfg.calibrate:
        logits = logits - cfg.prior.log()  # bug
    return logits.softmax(1)


def main():
    cfg = configure()
    model = nn.Linear(5, 3).to(cfg.device)
    optimizer = torch.optim.SGD(model.parameters(), cfg.rate)
    for _ in range(3):
        x = torch.randn(4, 5, device=cfg.device)
        loss = predict(model, x, cfg).max()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
