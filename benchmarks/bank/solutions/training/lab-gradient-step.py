"""Takes the derivative by a central difference, which is exact for a parabola."""


def solve(given):
    w, target, step = given["w"], given["target"], 0.5

    def loss(w):
        return sum((w * x - target * x) ** 2 for x in (1, 2, 3, 4)) / 4

    gradient = (loss(w + step) - loss(w - step)) / (2 * step)
    return {"gradient": gradient, "updated": w - given["rate"] * gradient}
