"""A small state machine; the second roads keep no counter, or look back at the whole history."""

import numpy as np


class loss_scaler:
    def __init__(self, scale, interval, growth=2.0, backoff=0.5):
        self.scale = scale
        self.interval, self.growth, self.backoff = interval, growth, backoff
        self.clean = 0

    def step(self, grads):
        if not all(np.isfinite(g).all() for g in grads):
            self.scale *= self.backoff
            self.clean = 0
            return None
        found = [g.astype(np.float32) / np.float32(self.scale) for g in grads]
        self.clean += 1
        if self.clean == self.interval:
            self.scale *= self.growth
            self.clean = 0
        return found


class loss_scaler_right_counts_down:
    def __init__(self, scale, interval, growth=2.0, backoff=0.5):
        self.scale = float(scale)
        self.options = interval, growth, backoff
        self.left = interval

    def step(self, grads):
        interval, growth, backoff = self.options
        used = self.scale
        bad = sum(int(np.isnan(g).sum() + np.isinf(g).sum()) for g in grads)
        self.left = interval if bad else self.left - 1
        if bad:
            self.scale = used * backoff
            return None
        if self.left == 0:
            self.scale, self.left = used * growth, interval
        return [np.float32(1 / used) * g.astype(np.float32) for g in grads]


class loss_scaler_right_by_torch:
    def __init__(self, scale, interval, growth=2.0, backoff=0.5):
        import torch

        self.torch = torch
        self.state = torch.tensor(float(scale)), torch.tensor(0, dtype=torch.int32)
        self.options = growth, backoff, interval

    @property
    def scale(self):
        return self.state[0].item()

    def step(self, grads):
        torch = self.torch
        tensors = [torch.from_numpy(g.astype(np.float32)) for g in grads]
        found = torch.zeros(())
        if tensors:
            inverse = self.state[0].reciprocal()
            torch._amp_foreach_non_finite_check_and_unscale_(tensors, found, inverse)
        torch._amp_update_scale_(*self.state, found, *self.options)
        return None if found else [t.numpy() for t in tensors]


def loss_scaler_cases(rng, given):
    def grads(largest, shapes=((3,), (2, 4))):
        """True gradients (float64) whose largest magnitude is given."""
        found = [rng.uniform(-0.5, 0.5, size=shape) for shape in shapes]
        found[-1].flat[-1] = rng.choice([-1, 1])
        return [g * largest for g in found]

    def options(exponent, interval, **more):
        return {"scale": 2.0**exponent, "interval": interval, **more}

    interval = int(rng.integers(4, 9))  # short, so that a few steps show the growth
    small = [grads(1e-6), grads(3e-7), grads(1e-2)]
    yield "unscaling", {"options": options(given["exponent"], 100), "steps": small}
    yield "unscaling", {"options": options(4, 100), "steps": [[np.zeros((0, 2)), np.ones(1)]]}
    # The scale grows in the very step whose gradients are to be divided by the old one.
    yield "unscaling", {"options": options(6, 1), "steps": [grads(0.1), grads(0.1), grads(0.1)]}

    fine = grads(0.5)
    late = grads(0.5)
    late[0][1] = 1e9
    nan = grads(0.5)
    nan[1][0, 2] = np.nan
    minus = grads(0.5)
    minus[1][1, 1] = -1e9
    bad = [late, nan, minus]
    for one in bad:
        yield "overflow", {"options": options(5, 50), "steps": [fine, one, fine]}
    more = {"growth": 4.0, "backoff": 0.25}
    yield "overflow", {"options": options(1, 50, **more), "steps": [*bad, fine]}
    yield "overflow", {"options": options(12, 50), "steps": [grads(100.0) for _ in range(8)]}

    yield "growth", {"options": options(3, interval), "steps": [fine] * (2 * interval + 1)}
    # The count starts again after an overflow, and not before.
    steps = [*[fine] * (interval - 1), nan, *[fine] * (interval - 1), nan, *[fine] * interval, fine]
    yield "growth", {"options": options(8, interval), "steps": steps}
    steps = [*[fine] * interval, late, *[fine] * (interval - 1), fine, fine]
    yield "growth", {"options": options(8, interval, **more), "steps": steps}
    up_and_down = [grads(float(rng.uniform(40, 60))) for _ in range(3 * interval + 4)]
    yield "growth", {"options": options(10, interval), "steps": up_and_down}
    for _ in range(3):
        steps = [nan if rng.random() < 0.15 else grads(0.01) for _ in range(30)]
        yield "growth", {"options": options(7, int(rng.integers(2, 6))), "steps": steps}


class loss_scaler_wrong_count_goes_on(loss_scaler):
    def step(self, grads):
        count = self.clean
        found = super().step(grads)
        if found is None:
            self.clean = count
        return found


class loss_scaler_wrong_infinities_alone(loss_scaler):
    def step(self, grads):
        if any(np.isinf(g).any() for g in grads):
            return super().step(grads)
        scale = self.scale
        super().step([np.zeros(1)])
        return [g.astype(np.float32) / np.float32(scale) for g in grads]


class loss_scaler_wrong_last_gradient_alone(loss_scaler):
    def step(self, grads):
        if np.isfinite(grads[-1]).all():
            scale = self.scale
            super().step([np.zeros(1)])
            return [g.astype(np.float32) / np.float32(scale) for g in grads]
        return super().step(grads)


class loss_scaler_wrong_divided_in_half_precision(loss_scaler):
    def step(self, grads):
        scale = np.float16(self.scale)
        found = super().step(grads)
        return found and [(g / scale).astype(np.float32) for g in grads]


class loss_scaler_wrong_new_scale(loss_scaler):
    def step(self, grads):
        found = super().step(grads)
        return found and [g.astype(np.float32) / np.float32(self.scale) for g in grads]


class loss_scaler_wrong_grows_a_step_late(loss_scaler):
    def __init__(self, scale, interval, growth=2.0, backoff=0.5):
        super().__init__(scale, interval + 1, growth, backoff)


class loss_scaler_wrong_never_starts_again(loss_scaler):
    def step(self, grads):
        if all(np.isfinite(g).all() for g in grads):
            found = [g.astype(np.float32) / np.float32(self.scale) for g in grads]
            self.clean += 1
            if self.clean >= self.interval:
                self.scale *= self.growth
            return found
        return super().step(grads)


class loss_scaler_wrong_fixed_factors(loss_scaler):
    def __init__(self, scale, interval, growth=2.0, backoff=0.5):
        super().__init__(scale, interval)


def solve(given):
    """Runs the state machine for both questions."""
    scaler = loss_scaler_right_counts_down(2.0 ** given["exponent"], given["interval"])
    fine, bad = [], [np.full(1, np.inf, np.float16)]  # what matters is only that none overflows
    for grads, times in (
        (fine, given["before"]),
        (bad, given["overflows"]),
        (fine, given["after"]),
    ):
        for _ in range(times):
            scaler.step(grads)

    # The real machine with a short interval: the scales at which steps are skipped, once it settled.
    cycles = loss_scaler(2.0 ** given["exponent"], 3)
    skipped = []
    with np.errstate(over="ignore"):
        for _ in range(400):
            scale = cycles.scale
            if cycles.step([np.array([scale * given["peak"]]).astype(np.float16)]) is None:
                skipped.append(scale)
    (larger,) = set(skipped[-20:])

    # Which cause skips every step, however small the scale has become?
    def always(gradient, exponent, interval):
        scaler = loss_scaler(2.0**exponent, interval)
        with np.errstate(over="ignore", under="ignore"):
            return all(
                scaler.step([np.array([gradient * scaler.scale]).astype(np.float16)]) is None
                for _ in range(60)
            )

    causes = {
        "forward": always(np.nan, 16, 2000),
        "initial": always(1.0, 30, 2000),
        "interval": always(1.0, 10, 10**9),
        "underflow": always(1e-12, 10, 2000),
    }
    (collapse,) = (name for name, all_skipped in causes.items() if all_skipped)
    return {
        "last_scale": int(np.log2(scaler.scale)),
        "skipped_at": int(np.log2(larger)),
        "collapse": collapse,
    }
