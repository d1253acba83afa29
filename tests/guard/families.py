"""Public model families, tiny and with random weights: a step of training, inference, and two faults in each.

Run as a program on pretended CUDA devices, it writes what happens with the families that it is given, as JSON, to a
file.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from devlint_guard import guard
from devlint_guard.report.json import encoded

TEXT = {
    "vocab_size": 32,
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "max_position_embeddings": 16,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
VISION = {"image_size": 32, "num_labels": 3, "num_channels": 3}


class Family(NamedTuple):
    """One family.

    Attributes:
        config: the name of its configuration in transformers.
        module: the name of the class.
        options: of the configuration.
        inputs: the name of a function below.
    """

    config: str
    module: str
    options: dict[str, Any]
    inputs: str = "text"


def _text(config: str, module: str, **options: Any) -> Family:
    return Family(config, module, {**TEXT, **options})


FAMILIES = {
    "bert": _text("BertConfig", "BertForMaskedLM"),
    "roberta": _text("RobertaConfig", "RobertaForMaskedLM"),
    "distilbert": _text("DistilBertConfig", "DistilBertForMaskedLM", dim=16, hidden_dim=16, n_layers=1, n_heads=2),
    "albert": _text("AlbertConfig", "AlbertForMaskedLM", embedding_size=8),
    "deberta-v2": _text("DebertaV2Config", "DebertaV2ForMaskedLM"),
    "gpt2": _text("GPT2Config", "GPT2LMHeadModel", n_embd=16, n_layer=1, n_head=2, n_positions=16),
    "opt": _text("OPTConfig", "OPTForCausalLM", ffn_dim=16, word_embed_proj_dim=16),
    "bloom": _text("BloomConfig", "BloomForCausalLM", n_layer=1, n_head=2),
    "llama": _text("LlamaConfig", "LlamaForCausalLM", num_key_value_heads=1),
    "mistral": _text("MistralConfig", "MistralForCausalLM", num_key_value_heads=1, head_dim=8),
    "qwen2": _text("Qwen2Config", "Qwen2ForCausalLM", num_key_value_heads=1),
    "gemma": _text("GemmaConfig", "GemmaForCausalLM", num_key_value_heads=1, head_dim=8),
    "phi": _text("PhiConfig", "PhiForCausalLM"),
    "falcon": _text("FalconConfig", "FalconForCausalLM"),
    "mamba": _text("MambaConfig", "MambaForCausalLM", state_size=4, time_step_rank=4),
    "t5": _text(
        "T5Config", "T5ForConditionalGeneration", d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2,
        decoder_start_token_id=0,
    ),
    "bart": _text(
        "BartConfig", "BartForConditionalGeneration", d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16,
        decoder_start_token_id=2,
    ),
    "vit": Family(
        "ViTConfig", "ViTForImageClassification",
        {**VISION, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2},
        "image",
    ),
    "resnet": Family(
        "ResNetConfig", "ResNetForImageClassification",
        {**VISION, "embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"},
        "image",
    ),
    "convnext": Family(
        "ConvNextConfig", "ConvNextForImageClassification",
        {**VISION, "hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]},
        "image",
    ),
    "swin": Family(
        "SwinConfig", "SwinForImageClassification",
        {**VISION, "embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2], "window_size": 2},
        "image",
    ),
    "wav2vec2": Family(
        "Wav2Vec2Config", "Wav2Vec2ForCTC",
        {
            "vocab_size": 32, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
            "num_attention_heads": 2, "conv_dim": [8, 8], "conv_stride": [5, 4], "conv_kernel": [10, 8],
            "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2,
            "mask_time_prob": 0.0, "pad_token_id": 0,
        },
        "sound",
    ),
}  # fmt: skip


# --- in the program -----------------------------------------------------------------------------------------


def text() -> dict[str, Any]:
    ids = torch.arange(3, 15).reshape(2, 6).to("cuda")
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}


def image() -> dict[str, Any]:
    pixels = torch.linspace(-1, 1, 2 * 3 * 32 * 32).reshape(2, 3, 32, 32)
    return {"pixel_values": pixels.to("cuda"), "labels": torch.tensor([0, 1]).to("cuda")}


def sound() -> dict[str, Any]:
    values = torch.linspace(-1, 1, 2 * 400).reshape(2, 400)
    return {"input_values": values.to("cuda"), "labels": torch.tensor([[3, 4], [5, 6]]).to("cuda")}


INPUTS: dict[str, Callable[[], dict[str, Any]]] = {"text": text, "image": image, "sound": sound}


def built(family: Family) -> Any:
    """A module of a family."""
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, family.config)(**family.options)
    return getattr(transformers, family.module)(config)


def used(module: Any, given: dict[str, Any]) -> list[Any]:
    """The loss and the parameters after a step of training, and what inference gives."""
    torch.manual_seed(0)
    module.train()
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01)
    loss = module(**given).loss
    loss.backward()
    optimizer.step()
    module.eval()
    with torch.no_grad():
        logits = module(**given).logits
    return [loss.detach(), logits, *[one.detach() for one in module.parameters()]]


def outcome(family: Family) -> dict[str, Any]:
    """What the guard says of a family as it is, and with each of the faults."""
    import torch

    model = built(family).to("cuda")
    given = INPUTS[family.inputs]()
    expected = used(copy.deepcopy(model), given)
    with guard(model, mode="record") as active:
        found = used(copy.deepcopy(model), given)
    same = all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
    said: dict[str, Any] = {"same": same, "findings": [encoded(one) for one in active.findings]}

    first = next(iter(given))
    said["input"] = ["", named(model, {**given, first: given[first].cpu()})]
    path = left_behind(model, given)
    said["left"] = [path, named(model, given)]
    return said


def left_behind(model: Any, given: dict[str, Any]) -> str:
    """Puts a buffer back on the CPU, or the weight of a layer, such that PyTorch refuses to run the whole."""
    layers = (torch.nn.LayerNorm, torch.nn.Linear)
    for path, module in model.named_modules():
        tables = [module._buffers] + [module._parameters] * isinstance(module, layers)
        for table in tables:
            for name, tensor in table.items():
                if tensor is None or tensor.dim() == 0:
                    continue
                table[name] = torch.nn.Parameter(tensor.detach().cpu()) if tensor.requires_grad else tensor.cpu()
                with torch.no_grad():
                    try:
                        model(**given)
                    except RuntimeError:
                        return f"model.{path}.{name}"
                table[name] = tensor
    raise AssertionError("nothing matters")


def named(model: Any, given: dict[str, Any]) -> dict[str, Any] | None:
    """The finding with which a step ends, from the guard or as PyTorch's error is explained; None if it ends well."""
    active = guard(model)
    try:
        with active:
            used(model, given)
    except Exception as error:
        if not active.findings:
            return {"error": repr(error)}
    return encoded(active.findings[0]) if active.findings else None


def told(family: Family) -> dict[str, Any]:
    """`outcome`, or why there is none."""
    try:
        return outcome(family)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps({name: told(FAMILIES[name]) for name in sys.argv[2:]}))
