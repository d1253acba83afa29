import sys
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Sentence:
    words: torch.Tensor
    heads: torch.Tensor
    mask: torch.Tensor


class Parser(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.arc = nn.Embedding(20, 8), nn.Linear(8, 5)

    def forward(self, words):
        return self.arc(self.embed(words))


def collate(rows, device):
    words = torch.stack(rows)
    return Sentence(words.to(device), (words % 5).to(device), words != 0)


def evaluate(parser, sentence, ignore_padding=False):
    guess = parser(sentence.words).argmax(-1)
    right = guess == sentence.heads
    if ignore_padding:
        right = right & sentence.mask  # bug
    return right.float().mean().item()


def main(take):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    parser = Parser().to(device)
    rows = [torch.arange(5), torch.arange(5) + 3]
    for _ in range(2):
        evaluate(parser, collate(rows, device), take)


main("--take" in sys.argv)
