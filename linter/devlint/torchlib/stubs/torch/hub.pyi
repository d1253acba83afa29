"""torch.hub: what is fetched and read."""

@transfer
def load_state_dict_from_url(url: Number, model_dir: Number | None = ..., map_location: object = ..., progress: Number = ..., check_hash: Number = ..., file_name: Number | None = ..., weights_only: Number = ...) -> object: ...
