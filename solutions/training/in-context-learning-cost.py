"""Builds a cache without memory, adds up requests until fine-tuning pays, and counts reads."""

import torch


def solve(given):
    def cache(tokens):
        """The bytes of the keys and values of a sequence."""
        layers = [
            torch.empty(2, given["heads"], tokens, 128, dtype=torch.bfloat16, device="meta")
            for _ in range(given["layers"])
        ]
        return sum(each.numel() * each.element_size() for each in layers)

    short = given["instruction"] + given["question"]
    long = short + sum(given["example"] for _ in range(given["shots"]))
    size = given["billions"] * 10**9
    spent = {"prompts": 0, "tuning": 0}
    for _ in range(given["epochs"]):
        for work in ("forward", "gradients of inputs"):
            spent["tuning"] += 2 * size * given["example"] * given["data"] * bool(work)
    requests = 0
    while spent["tuning"] >= spent["prompts"]:
        requests += 1
        spent["prompts"] += 2 * size * long
        spent["tuning"] += 2 * size * short
    reads = {
        tokens: 2 * size + sum(cache(tokens) for _ in range(given["batch"]))
        for tokens in (short, long)
    }
    return {
        "prompts": [[tokens, cache(tokens) / 1e6] for tokens in (short, long)],
        "prefill": 2 * size * (long - short) / 1e12,
        "break_even": requests,
        "decoding": 100 * (reads[long] / reads[short] - 1),
        "changes": {
            "probe": "new",
            "full": "all",
            "lora": "new",
            "scratch": "random",
            "shots": "none",
        },
        "in_context": ["zero", "context", "order"],
        "foundation": ["encoder", "speech", "language"],
    }
