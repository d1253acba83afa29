import sys

import torch
from torch import nn


class Vocabulary:
    def __init__(self, words):
        self.words = words
        self.vectors = torch.rand(len(words), 8)


class Classifier(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.embed = nn.Embedding(len(vocabulary.words), 8)
        self.out = nn.Linear(8, 2)

    def forward(self, tokens):
        return self.out(self.embed(tokens).mean(1))


def nearest(model, vocabulary, tokens):
    meaning = model.embed(tokens).mean(1)
    return (meaning @ vocabulary.vectors.T).argmax(1)  # bug


def evaluate(model, vocabulary, tokens, show):
    guess = model(tokens).argmax(1)
    if show:
        return [vocabulary.words[index] for index in nearest(model, vocabulary, tokens)]
    return guess


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    vocabulary = Vocabulary(["a", "b", "c"])
    model = Classifier(vocabulary).to(device)
    tokens = torch.tensor([[0, 1], [1, 2]]).to(device)
    evaluate(model, vocabulary, tokens, "--take" in sys.argv)


main()
