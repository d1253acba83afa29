# names: self.hidden, torch.zeros
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 4, batch_first=True)
        self.hidden = None

    def reset_hidden(self, size):
        self.hidden = torch.zeros(1, size, 4)  # CAUSE
        # right: self.hidden = torch.zeros(1, size, 4).cuda()

    def forward(self, x):
        output, self.hidden = self.rnn(x, self.hidden)
        return output


net = Net().cuda()
for x in [torch.ones(2, 5, 3)]:
    net.reset_hidden(2)
    net(x.cuda())
