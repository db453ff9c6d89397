"""By torch's own losses; the second roads write the sums out, one of them in float64 by hand."""

import math

import numpy as np
import torch
from torch.nn import functional


def distillation_loss(student, teacher, labels, temperature, alpha):
    q = functional.log_softmax(student / temperature, dim=1)
    p = functional.softmax(teacher.detach() / temperature, dim=1)
    soft = functional.kl_div(q, p, reduction="batchmean") * temperature**2
    return alpha * soft + (1 - alpha) * functional.cross_entropy(student, labels)


def distillation_loss_right_in_logarithms(student, teacher, labels, temperature, alpha):
    with torch.no_grad():
        p = torch.log_softmax(teacher / temperature, -1)
    q = torch.log_softmax(student / temperature, -1)
    soft = (p.exp() * (p - q)).sum(-1) * temperature**2
    hard = -torch.log_softmax(student, -1)[torch.arange(len(labels)), labels]
    return (alpha * soft + (1 - alpha) * hard).mean()


def distillation_loss_right_by_cross_entropy(student, teacher, labels, temperature, alpha):
    teacher = teacher.detach() / temperature
    p = teacher.softmax(1)
    entropy = torch.special.entr(p).sum(1).mean()
    soft = functional.cross_entropy(student / temperature, p) - entropy
    hard = functional.nll_loss(student - student.logsumexp(1, keepdim=True), labels)
    return soft * temperature * temperature * alpha + hard * (1 - alpha)


def distillation_loss_expected(student, teacher, labels, temperature, alpha):
    """Sample by sample in float64, with the gradient by its formula."""

    def soft(logits, heat):
        top = max(logits)
        total = math.fsum(math.exp((v - top) / heat) for v in logits)
        return [(v - top) / heat - math.log(total) for v in logits]

    total, rows = 0.0, []
    for s, t, y in zip(student.tolist(), teacher.tolist(), labels.tolist(), strict=True):
        p, q, one = soft(t, temperature), soft(s, temperature), soft(s, 1.0)
        kl = math.fsum(math.exp(a) * (a - b) for a, b in zip(p, q, strict=True))
        total += alpha * temperature**2 * kl - (1 - alpha) * one[y]
        rows.append(
            [
                alpha * temperature * (math.exp(q[c]) - math.exp(p[c]))
                + (1 - alpha) * (math.exp(one[c]) - (c == y))
                for c in range(len(s))
            ]
        )
    gradient = torch.tensor(rows, dtype=student.dtype) / len(student)
    loss = torch.tensor(total / len(student), dtype=student.dtype)
    return {"loss": loss, "gradient": gradient, "the_teacher_gets_a_gradient": False}


def distillation_loss_cases(rng, given):
    def made(shape, temperature, alpha, spread=2.0, dtype=torch.float32):
        return {
            "student": torch.tensor(rng.normal(size=shape) * spread, dtype=dtype),
            "teacher": torch.tensor(rng.normal(size=shape) * spread, dtype=dtype),
            "labels": torch.tensor(rng.integers(0, shape[1], size=shape[0])),
            "temperature": temperature,
            "alpha": alpha,
        }

    heat, alpha = float(given["temperature"]), given["alpha"]
    yield "soft", made((1, 2), heat, 1.0)
    yield "soft", made((4, 10), heat, 1.0)
    yield "soft", made((6, 3), 1.0, 1.0, dtype=torch.float64)
    yield "hard", made((1, 2), heat, 0.0)
    yield "hard", made((5, 7), heat, 0.0)
    yield "both", made((3, 4), heat, alpha)
    yield "both", made((8, 5), 1.5, 0.4, dtype=torch.float64)
    yield "both", made((2, 30), heat, alpha)
    # Logits of hundreds are themselves known to no more than some 0.00005.
    rough = {"relative": 1e-4, "absolute": 1e-3}
    yield "extreme", made((3, 4), heat, alpha, spread=600.0), rough
    yield "extreme", made((3, 4), 1.0, 0.5, spread=400.0), rough
    same = made((3, 5), heat, 1.0)
    same["student"] = same["teacher"] + 100.0
    yield "extreme", same, rough
    for _ in range(2):
        shape = (int(rng.integers(2, 9)), int(rng.integers(3, 12)))
        yield "both", made(shape, heat, float(rng.uniform(0.2, 0.8)))


def distillation_loss_wrong_not_squared(student, teacher, labels, temperature, alpha):
    q = functional.log_softmax(student / temperature, dim=1)
    p = functional.softmax(teacher.detach() / temperature, dim=1)
    soft = functional.kl_div(q, p, reduction="batchmean")
    return alpha * soft + (1 - alpha) * functional.cross_entropy(student, labels)


def distillation_loss_wrong_swapped(student, teacher, labels, temperature, alpha):
    q = functional.log_softmax(teacher.detach() / temperature, dim=1)
    p = functional.softmax(student / temperature, dim=1)
    soft = functional.kl_div(q, p, reduction="batchmean") * temperature**2
    return alpha * soft + (1 - alpha) * functional.cross_entropy(student, labels)


def distillation_loss_wrong_mean_over_classes(student, teacher, labels, temperature, alpha):
    q = functional.log_softmax(student / temperature, dim=1)
    p = functional.softmax(teacher.detach() / temperature, dim=1)
    soft = (p * (p.clamp_min(1e-30).log() - q)).mean() * temperature**2
    return alpha * soft + (1 - alpha) * functional.cross_entropy(student, labels)


def distillation_loss_wrong_hard_term_softened(student, teacher, labels, temperature, alpha):
    q = functional.log_softmax(student / temperature, dim=1)
    p = functional.softmax(teacher.detach() / temperature, dim=1)
    soft = functional.kl_div(q, p, reduction="batchmean") * temperature**2
    return alpha * soft + (1 - alpha) * functional.cross_entropy(student / temperature, labels)


def distillation_loss_wrong_teacher_moves(student, teacher, labels, temperature, alpha):
    q = functional.log_softmax(student / temperature, dim=1)
    p = functional.softmax(teacher / temperature, dim=1)
    soft = functional.kl_div(q, p, reduction="batchmean") * temperature**2
    return alpha * soft + (1 - alpha) * functional.cross_entropy(student, labels)


def distillation_loss_wrong_logarithm_of_softmax(student, teacher, labels, temperature, alpha):
    q = functional.softmax(student / temperature, dim=1)
    p = functional.softmax(teacher.detach() / temperature, dim=1)
    soft = (p * (p / q).log()).sum(dim=1).mean() * temperature**2
    return alpha * soft + (1 - alpha) * functional.cross_entropy(student, labels)


def distillation_loss_wrong_student_not_softened(student, teacher, labels, temperature, alpha):
    q = functional.log_softmax(student, dim=1)
    p = functional.softmax(teacher.detach() / temperature, dim=1)
    soft = functional.kl_div(q, p, reduction="batchmean") * temperature**2
    return alpha * soft + (1 - alpha) * functional.cross_entropy(student, labels)


def distillation_loss_wrong_small_number_added(student, teacher, labels, temperature, alpha):
    q = (functional.softmax(student / temperature, dim=1) + 1e-7).log()
    p = functional.softmax(teacher.detach() / temperature, dim=1)
    soft = functional.kl_div(q, p, reduction="batchmean") * temperature**2
    return alpha * soft + (1 - alpha) * functional.cross_entropy(student, labels)


def distillation_loss_wrong_in_half_precision(student, teacher, labels, temperature, alpha):
    q = functional.log_softmax(student / temperature, dim=1)
    p = functional.softmax(teacher.detach() / temperature, dim=1).bfloat16().to(q.dtype)
    soft = functional.kl_div(q, p, reduction="batchmean") * temperature**2
    return alpha * soft + (1 - alpha) * functional.cross_entropy(student, labels)


def distillation_loss_wrong_logits_clamped(student, teacher, labels, temperature, alpha):
    student, teacher = student.clamp(-100, 100), teacher.detach().clamp(-100, 100)
    q = functional.log_softmax(student / temperature, dim=1)
    p = functional.softmax(teacher / temperature, dim=1)
    soft = functional.kl_div(q, p, reduction="batchmean") * temperature**2
    return alpha * soft + (1 - alpha) * functional.cross_entropy(student, labels)


def solve(given):
    """Probabilities by numpy; the exponent of T in the size of the soft gradients, by measuring."""
    logits = np.array([given["teacher_first"], given["teacher_second"]]) / given["temperature"]
    odds = np.exp(logits - logits.max())

    teacher = torch.tensor([[1.0, -0.4, 0.3]], dtype=torch.float64)
    sizes = []
    for heat in (50.0, 100.0):
        student = torch.tensor([[-0.2, 0.8, 0.1]], dtype=torch.float64, requires_grad=True)
        q, p = (
            functional.log_softmax(student / heat, dim=1),
            functional.softmax(teacher / heat, dim=1),
        )
        functional.kl_div(q, p, reduction="batchmean").backward()
        sizes.append(student.grad.norm().item())
    power = math.log2(sizes[0] / sizes[1])

    # A central difference of the loss in the student's second logit.
    heat = given["temperature"]
    target = torch.tensor([[given["teacher_first"], given["teacher_second"]]], dtype=torch.float64)
    none = torch.zeros(1, dtype=torch.int64)
    up, down = (
        distillation_loss(torch.tensor([[0.0, h]], dtype=torch.float64), target, none, heat, 1.0)
        for h in (1e-4, -1e-4)
    )
    return {
        "softened": float(odds[1] / odds.sum()),
        "soft_gradient": float(up - down) / 2e-4,
        "squared": "gradients" if abs(power - 2) < 0.05 else "normalized",
    }
