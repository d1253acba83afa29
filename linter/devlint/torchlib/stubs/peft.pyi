"""peft: wraps a module in place, where it is; held against peft 0.21."""

@transfer
def get_peft_model(model: object, peft_config: object, *args: object, **kwargs: object) -> object: ...
