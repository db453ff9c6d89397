"""A projected Adam; ranks are those of sums of random matrices, and SVDs are counted one by one."""

from fractions import Fraction

import numpy as np
import torch


class galore_adam:
    def __init__(self, rank, period, rate, betas=(0.9, 0.999), eps=1e-8):
        self.rank, self.period, self.rate, self.betas, self.eps = rank, period, rate, betas, eps
        self.steps, self.m, self.v = 0, 0.0, 0.0

    def step(self, weight, gradient):
        if gradient.shape[0] > gradient.shape[1]:
            self.step(weight.T, gradient.T)
            return
        if self.steps % self.period == 0:
            self.projector = self._directions(gradient)
        self.steps += 1
        projected = self.projector.T @ gradient
        first, second = self.betas
        self.m = first * self.m + (1 - first) * projected
        self.v = second * self.v + (1 - second) * projected**2
        m = self.m / (1 - first**self.steps)
        v = self.v / (1 - second**self.steps)
        weight -= self.rate * (self.projector @ (m / (v.sqrt() + self.eps)))

    def _directions(self, gradient):
        vectors = torch.linalg.svd(gradient, full_matrices=False)[0][:, : self.rank].clone()
        largest = vectors.gather(0, vectors.abs().argmax(0, keepdim=True))
        return vectors * largest.sign()


class galore_adam_right_numpy:
    """Without a transpose: two cases, and eigenvectors of the smaller product."""

    def __init__(self, rank, period, rate, betas=(0.9, 0.999), eps=1e-8):
        self.settings = (rank, period, rate, betas, eps)
        self.t = 0

    def step(self, weight, gradient):
        rank, period, rate, (first, second), eps = self.settings
        g = gradient.detach().numpy()
        wide = g.shape[0] <= g.shape[1]
        if self.t % period == 0:
            _, vectors = np.linalg.eigh(g @ g.T if wide else g.T @ g)
            chosen = vectors[:, ::-1][:, :rank].copy()
            for column in chosen.T:
                if column[np.abs(column).argmax()] < 0:
                    column *= -1
            self.p = torch.from_numpy(chosen)
        r = (self.p.T @ gradient) if wide else (gradient @ self.p)
        if self.t == 0:
            self.m, self.v = torch.zeros_like(r), torch.zeros_like(r)
        self.t += 1
        self.m.mul_(first).add_(r, alpha=1 - first)
        self.v.mul_(second).addcmul_(r, r, value=1 - second)
        n = (self.m / (1 - first**self.t)) / ((self.v / (1 - second**self.t)).sqrt() + eps)
        weight.sub_(rate * (self.p @ n if wide else n @ self.p.T))


class galore_adam_right_by_torch_adam:
    """Lets torch.optim.Adam update a parameter that always starts at 0."""

    def __init__(self, rank, period, rate, betas=(0.9, 0.999), eps=1e-8):
        self.rank, self.period, self.count = rank, period, 0
        self.make = lambda p: torch.optim.Adam([p], lr=rate, betas=betas, eps=eps)

    def step(self, weight, gradient):
        tall = weight.shape[0] > weight.shape[1]
        g = gradient.T if tall else gradient
        if self.count % self.period == 0:
            u, _, _ = torch.linalg.svd(g)
            u = u[:, : self.rank].contiguous().clone()
            for j in range(self.rank):
                if u[u[:, j].abs().argmax(), j] < 0:
                    u[:, j] = -u[:, j]
            self.projector = u
        if self.count == 0:
            inner = torch.nn.Parameter(torch.zeros(self.rank, g.shape[1], dtype=g.dtype))
            self.inner, self.adam = [inner], [self.make(inner)]
            self.make = None
        parameter = self.inner[0]
        parameter.data = torch.zeros(self.rank, g.shape[1], dtype=g.dtype)
        parameter.grad = self.projector.T @ g
        self.adam[0].step()
        change = self.projector @ parameter.detach()
        parameter.grad, parameter.data = None, torch.empty(0, dtype=g.dtype)
        weight += change.T if tall else change
        self.count += 1


def galore_adam_cases(rng, given):
    def case(shape, rank, period, steps, rate=0.1, betas=(0.9, 0.999), eps=1e-8, memory=False):
        m, n = shape
        gradients = []
        for _ in range(steps):
            u, _ = np.linalg.qr(rng.normal(size=(m, min(m, n))))
            v, _ = np.linalg.qr(rng.normal(size=(n, min(m, n))))
            # Singular values that differ by a factor, so that the subspace is clear.
            values = 1.6 ** -np.arange(min(m, n)) * rng.uniform(0.5, 3)
            gradients.append(torch.tensor(u * values @ v.T))
        return {
            "weight": torch.tensor(rng.normal(size=shape)),
            "gradients": gradients,
            "rank": rank,
            "period": period,
            "rate": rate,
            "betas": list(betas),
            "eps": eps,
            "memory": memory,
        }

    yield "one_period", case((4, 7), 2, 10, 1)
    yield "one_period", case((5, 8), 2, 10, 6)
    yield "one_period", case((6, 6), 3, 100, 4, rate=0.01, betas=(0.8, 0.9), eps=1e-3)
    yield "one_period", case((3, 9), 3, 5, 5)
    yield "refresh", case((4, 7), 2, 2, 7)
    yield "refresh", case((5, 9), 1, 3, 10, rate=0.03)
    yield "refresh", case((6, 8), 4, 1, 4, betas=(0.5, 0.95), eps=1e-2)
    yield "refresh", case((5, 6), 3, 4, 9)
    yield "tall", case((8, 4), 2, 10, 4)
    yield "tall", case((9, 5), 3, 2, 6, rate=0.02)
    yield "tall", case((7, 3), 1, 3, 7, betas=(0.7, 0.9), eps=1e-4)
    yield "memory", case((12, 16), 2, 3, 4, memory=True)
    yield "memory", case((18, 10), 1, 2, 3, memory=True)


class galore_adam_wrong_rows_always(galore_adam):
    """Projects the rows, even if there are more of them than columns."""

    def step(self, weight, gradient):
        if weight.shape[0] <= weight.shape[1]:
            galore_adam.step(self, weight, gradient)
            return
        padding = torch.zeros(weight.shape[0], weight.shape[0] - weight.shape[1]).to(weight)
        wide = torch.cat([weight, padding], 1)
        galore_adam.step(self, wide, torch.cat([gradient, padding], 1))
        weight.copy_(wide[:, : weight.shape[1]])


class galore_adam_wrong_moments_reset(galore_adam):
    def step(self, weight, gradient):
        if self.steps % self.period == 0:
            self.m, self.v = 0.0, 0.0
        super().step(weight, gradient)


class galore_adam_wrong_time_reset(galore_adam):
    """Starts the bias correction again with each projector."""

    def step(self, weight, gradient):
        if self.steps == self.period:
            self.steps = 0
        super().step(weight, gradient)


class galore_adam_wrong_never_refreshed(galore_adam):
    def __init__(self, rank, period, rate, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(rank, 10**9, rate, betas, eps)


class galore_adam_wrong_refreshed_every_step(galore_adam):
    def __init__(self, rank, period, rate, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(rank, 1, rate, betas, eps)


class galore_adam_wrong_refreshed_late(galore_adam):
    """Computes the projector in steps T, 2T, and so on, besides step 1."""

    def step(self, weight, gradient):
        if weight.shape[0] <= weight.shape[1] and (self.steps + 1) % self.period == 0:
            self.projector = self._directions(gradient)
            period, self.period = self.period, 10**9
            super().step(weight, gradient)
            self.period = period
            return
        if weight.shape[0] <= weight.shape[1] and self.steps:
            period, self.period = self.period, 10**9
            super().step(weight, gradient)
            self.period = period
            return
        super().step(weight, gradient)


class galore_adam_wrong_gradient_projected_back(galore_adam):
    """Runs Adam with moments of full size on the projected gradient."""

    def step(self, weight, gradient):
        if weight.shape[0] > weight.shape[1]:
            self.step(weight.T, gradient.T)
            return
        if self.steps % self.period == 0:
            self.projector = self._directions(gradient)
        self.steps += 1
        g = self.projector @ (self.projector.T @ gradient)
        first, second = self.betas
        self.m = first * self.m + (1 - first) * g
        self.v = second * self.v + (1 - second) * g**2
        m, v = self.m / (1 - first**self.steps), self.v / (1 - second**self.steps)
        weight -= self.rate * m / (v.sqrt() + self.eps)


class galore_adam_wrong_smallest_directions(galore_adam):
    def _directions(self, gradient):
        vectors = torch.linalg.svd(gradient, full_matrices=False)[0].flip(1)[:, : self.rank]
        return vectors * vectors.gather(0, vectors.abs().argmax(0, keepdim=True)).sign()


class galore_adam_wrong_keeps_all_vectors(galore_adam):
    """Keeps a view of all singular vectors."""

    def _directions(self, gradient):
        vectors = torch.linalg.svd(gradient)[0]
        vectors *= vectors.gather(0, vectors.abs().argmax(0, keepdim=True)).sign()
        return vectors[:, : self.rank]


class galore_adam_wrong_no_bias_correction(galore_adam):
    def step(self, weight, gradient):
        first, second = self.betas
        if weight.shape[0] <= weight.shape[1]:
            t = self.steps + 1
            ratio = (1 - first**t) / (1 - second**t) ** 0.5
            rate, self.rate = self.rate, self.rate * ratio
            super().step(weight, gradient)
            self.rate = rate
        else:
            super().step(weight, gradient)


def projectors(steps, period):
    """Return the steps in which a projector is computed."""
    return [t for t in range(1, steps + 1) if (t - 1) % period == 0]


def rank_of_change(steps, period, rank, short, scale):
    """Return the rank of a sum of changes, measured on a matrix that is smaller by a factor."""
    rng, total = np.random.default_rng(0), 0.0
    side, inner = short // scale, rank // scale
    for _ in projectors(steps, period)[: 2 * side]:
        basis = rng.normal(size=(side, inner))
        for _ in range(2):
            total = total + basis @ rng.normal(size=(inner, 2 * side))
    return scale * int(np.linalg.matrix_rank(total))


def optimizer_state(m, n, rank):
    """Return the elements that Adam and GaLore keep for one matrix."""
    with torch.device("meta"):
        weight = torch.empty(m, n)
        short = min(m, n)
        projector = torch.empty(short, rank)
        moments = [torch.empty(rank, max(m, n)) for _ in range(2)]
    return 2 * weight.numel(), projector.numel() + sum(t.numel() for t in moments)


def solve(given):
    width, inner, rank, period = (given[name] for name in ("hidden", "ffn", "rank", "period"))
    full, projected = optimizer_state(width, inner, rank)
    matrices = sum(4 + 3 for _ in range(given["layers"]))
    svd, step = Fraction(str(given["svd"])), Fraction(str(given["step_time"]))
    shortest = 1
    while matrices * svd / shortest > step / 20:
        shortest += 1
    at = [round(0.6 * period), round(2.6 * period), given["steps"]]
    scale = 128
    return {
        "state_share": 100 * projected / full,
        "svd_count": len(projectors(given["steps"], period)) * matrices,
        "shortest_period": shortest,
        "ranks": [
            [
                rank_of_change(s, period, rank, width, scale),
                rank_of_change(1, period, rank, width, scale),
            ]
            for s in at
        ],
        "smaller": {"moments", "gradients"} if given["per_layer"] else {"moments"},
    }
