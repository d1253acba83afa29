"""`python -m tests.guard.rehearsal.architectures`: models of transformers under a rehearsal on two devices.

Each model is tiny and has random weights. It takes a step of training, is used without gradients, and generates where
it can. All of these programs are right, so that each error is a false alarm of the rehearsal.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from tests.guard.families import FAMILIES, INPUTS, Family, built, used


def outcome(family: Family, device: str) -> tuple[str, bool, list[str]]:
    """Return the error that a family raises, whether it has generated, and what was not judged."""
    from devlint_guard.rehearsal import rehearse
    from devlint_guard.rehearsal.unjudged import UNJUDGED

    generates = False
    with rehearse(devices=2):
        try:
            model = built(family).to(device)
            given = INPUTS[family.inputs](model, device)
            results = used(model, given)
            if any(str(one.device) != device for one in results):
                return f"results are on {sorted({str(one.device) for one in results})}", False, []
            if family.inputs == "text" and _can_generate(model):
                generates = True
                _generate(model, given, device)
        except Exception as error:
            return f"{type(error).__name__}: {error}", generates, UNJUDGED.lines()
    return "", generates, UNJUDGED.lines()


def _can_generate(model: Any) -> bool:
    return bool(getattr(model, "can_generate", lambda: False)())


def _generate(model: Any, given: dict[str, Any], device: str) -> None:
    for options in ({"do_sample": True}, {"num_beams": 2}):
        made = model.generate(given["input_ids"], attention_mask=given["attention_mask"], max_new_tokens=3, **options)
        if str(made.device) != device:
            raise AssertionError(f"{options} generates on {made.device}")


def main(device: str = "cuda:1") -> int:
    """Print a line for each family; return 1 if one has failed or was not judged."""
    import warnings

    warnings.simplefilter("ignore")
    os.environ["HF_HUB_OFFLINE"] = "1"
    wrong = generated = 0
    for name, family in FAMILIES.items():
        with open(os.devnull, "w") as nothing, contextlib.redirect_stderr(nothing):
            error, generates, unjudged = outcome(family, device)
        generated += generates
        wrong += bool(error or unjudged)
        print(f"{name:14} {error or 'right'}{'; not judged: ' + '; '.join(unjudged) if unjudged else ''}", flush=True)
    print(f"{len(FAMILIES) - wrong} of {len(FAMILIES)} are right and judged; {generated} of them have generated")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
