"""torchvision.models: classifiers, on the default device; other kinds of models are in modules of their own."""

def get_model(*args: object, **config: object) -> torchvision.models._Classifier[DEFAULT]: ...

class _Classifier(torch.nn.Module):
    classifier: torchvision.models._Layers[D]
    conv1: torchvision.models._Layers[D]
    fc: torchvision.models._Layers[D]
    features: torchvision.models._Layers[D]
    head: torchvision.models._Layers[D]
    heads: torchvision.models._Layers[D]
    def forward(self: Module[D], x: Tensor[D]) -> Tensor[D]: ...

class _Layers(torch.nn.Module):
    """A layer, or several in a row."""
    head: torchvision.models._Layers[D]
    def forward(self: Module[D], x: Tensor[D]) -> Tensor[D]: ...
    def __getitem__(self: Module[D], key: object) -> torchvision.models._Layers[D]: ...
