"""Follow what a rank holds through one optimizer step, and send what is missing around a ring.

The road differs from the formulas: a small state machine asks before every use whether weights are
there and whether gradients are summed, starts a collective if not, and adds up the chunks sent.
"""


class Rank:
    """One rank under a strategy; sizes are in GB."""

    def __init__(self, ranks, weights):
        self.ranks, self.weights = ranks, weights
        self.sent = 0.0

    def phase(self):
        """Pass chunks on once around the ring: a reduce-scatter or an all-gather of everything."""
        for _step in range(self.ranks - 1):
            self.sent += self.weights / self.ranks

    def all_reduce(self):
        """Pass the sums on after they were formed."""
        self.phase()
        self.phase()

    def step(self, stage, micro_batches, *, late=False, keep=False):
        """Run one optimizer step and return the bytes sent in it.

        `late`: gradients stay local until the last micro-batch. `keep`: gathered weights stay
        from forward to backward.
        """
        before = self.sent
        have_weights = stage < 3
        for micro in range(micro_batches):
            last = micro == micro_batches - 1
            if not have_weights:
                self.phase()  # gather for the forward
            if stage == 3 and not keep:
                self.phase()  # freed after the forward: gather for the backward
            if late and not last:
                continue
            if stage == 0:
                self.all_reduce()
            else:
                self.phase()  # reduce-scatter
        if 0 < stage < 3:
            self.phase()  # the updated shares of the weights
        return self.sent - before


def solve(given):
    rank = Rank(given["gpus"], 2 * given["billions"])
    many = given["accumulation"]
    schemes = {
        "ddp_no_sync": rank.step(0, many, late=True),
        "zero2": rank.step(2, many),
        "ddp": rank.step(0, many),
        "zero3_late": rank.step(3, many, late=True),
        "zero3": rank.step(3, many),
    }
    ddp = rank.step(0, 1)
    other = {
        "keep_weights": rank.step(3, 1, keep=True),
        "prefetch": rank.step(3, 1),
        "larger_units": rank.step(3, 1),
        "more_gpus": Rank(2 * given["gpus"], 2 * given["billions"]).step(3, 1),
        "checkpointing": rank.step(3, 1),
    }
    (keep,) = (name for name, sent in other.items() if sent < 1.01 * ddp)
    return {
        "volumes": [[rank.step(stage, 1)] for stage in range(4)],
        "zero2_accumulated": schemes["zero2"],
        "zero3_accumulated": schemes["zero3"],
        "order": sorted(schemes, key=schemes.get),
        "keep": keep,
    }
