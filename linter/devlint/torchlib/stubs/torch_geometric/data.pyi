"""torch_geometric.data: a graph holds tensors; `to` moves the graph itself and returns it (held against 2.8)."""

class Data:
    batch: Tensor[D]
    edge_attr: Tensor[D]
    edge_index: Tensor[D]
    num_edges: Number
    num_features: Number
    num_graphs: Number
    num_node_features: Number
    num_nodes: Number
    pos: Tensor[D]
    ptr: Tensor[D]
    test_mask: Tensor[D]
    train_mask: Tensor[D]
    val_mask: Tensor[D]
    x: Tensor[D]
    y: Tensor[D]
    @overload
    def __init__(self, x: Tensor[E], *args: object, **kwargs: object) -> None: ...
    @overload
    def __init__(self, *, edge_index: Tensor[E], **kwargs: object) -> None: ...
    @overload
    def __init__(self, *args: object, **kwargs: object) -> object: ...
    def __getitem__(self: torch_geometric.data.Data[D], key: Number) -> Tensor[D]: ...
    @moves
    def cpu(self: torch_geometric.data.Data[D]) -> Self: ...
    @moves
    def cuda(self: torch_geometric.data.Data[D], device: Device[E] = CURRENT, non_blocking: Number = ...) -> Self: ...
    @moves
    def to(self: torch_geometric.data.Data[D], device: Device[E], *args: object, non_blocking: Number = ...) -> Self: ...

class Batch(Data):
    def from_data_list(data_list: object, *args: object, **kwargs: object) -> object: ...
