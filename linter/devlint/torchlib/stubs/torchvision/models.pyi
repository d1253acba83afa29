"""torchvision.models: classifiers, on the default device; other kinds of models are in modules of their own."""

def get_model(*args: object, **config: object) -> torchvision.models._Classifier[DEFAULT]: ...

class _Classifier(torch.nn.Module):
    classifier: object
    conv1: object
    fc: object
    features: object
    head: object
    heads: object
    def forward(self: Module[D], x: Tensor[D]) -> Tensor[D]: ...
