"""The benchmark's exam as students and peers see it: code that answers, code that errs, keys.

The problems themselves are in `benchmarks/bank/`. Here is, for every answer, what a student writes
to compute it, a plausible wrong version, and the key as a Python expression over the numbers that
the student was given, which is what a test cell of another grader compares with. The three are
checked against the keys of `grader key` whenever a class is made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from string import Template

IMPORTS = "import math\n\nimport numpy as np\nimport torch\nfrom torch import nn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer of the exam; `$x` in code and key stands for the given number x."""

    name: str
    points: int
    right: str
    """A cell that sets the variable."""
    wrong: str
    """The same cell with a mistake."""
    key: str
    tolerance: float | None = 0.005
    """Relative; 0 for whole numbers, None for text."""

    def code(self, given: Given, *, right: bool) -> str:
        """The cell of a student who has these numbers."""
        source = self.right if right else self.wrong
        return Template(source).substitute(given[self.question]).strip()

    def broken(self, given: Given) -> str:
        """The right cell, but the line that sets the variable raises."""
        lines = self.code(given, right=True).splitlines()
        return "\n".join([*lines[:-1], f"{self.name} = not_defined"])

    @property
    def question(self) -> str:
        """Such as `q3`."""
        return self.name.split("_")[0]

    @property
    def test(self) -> str:
        """The comparison that a test cell makes, over a dict `given`."""
        key = Template(self.key).substitute(_Named(self.question))
        if self.tolerance is None:
            return f"assert {self.name}.strip().upper() == {key}"
        if self.tolerance == 0:
            return f"assert {self.name} == {key}"
        return f"assert math.isclose({self.name}, {key}, rel_tol={self.tolerance})"


Given = Mapping[str, Mapping[str, float]]
"""Question to parameter to number."""


class _Named(dict[str, str]):
    """Turns `$x` into `given["q3"]["x"]`."""

    def __init__(self, question: str):
        self._question = question

    def __missing__(self, name: str) -> str:
        return f'given["{self._question}"]["{name}"]'


def judge(values: Mapping[str, object], given: Given) -> dict[str, int]:
    """Points by the same comparisons, for contenders that run notebooks and grade nothing."""
    marks = {}
    for answer in ANSWERS:
        space = {"math": math, "given": given}
        if answer.name in values:
            space[answer.name] = values[answer.name]
        try:
            exec(answer.test, space)  # our own text, and values of our own made-up students
            marks[answer.name] = answer.points
        except Exception:  # noqa: BLE001 - as in a test cell, whatever is raised is a failure
            marks[answer.name] = 0
    return marks


_MLP = """
model = nn.Sequential(nn.Linear($width, $hidden), nn.GELU(), nn.Linear($hidden, $width))
q1_count = sum(p.numel() for p in model.parameters()%s)
"""
_MLP_KEY = "(2 * $width * $hidden + $width + $hidden)"
_HALF = """
x = torch.randn($batch, $tokens, $width)
low = x.to(torch.bfloat16)
q2_half = %s.element_size() * low.nelement() / 1e6
"""
_EIGHT = """
scale = x.abs().amax(dim=-1) / 127
codes = torch.clamp((x / scale[..., None]).round(), -127, 127).to(torch.int8)
q2_eight = (codes.nbytes%s) / 1e6
"""
_MATMUL = """
a, b = torch.randn($m, $k), torch.randn($k, $n)
c = a @ b
q3_work = %sc.numel() * a.shape[1] / 1e6
"""
_STEP = """
w = torch.tensor($w, requires_grad=True)
x = torch.arange(1.0, 5.0)
loss = ((w * x - $target * x) ** 2).%s()
loss.backward()
q4_gradient = w.grad.item()
"""
_STEPPED = """
again = torch.tensor($w, requires_grad=True)
optimizer = torch.optim.SGD([again], lr=$rate)
(%s((again * x - $target * x) ** 2).mean()).backward()
optimizer.step()
q4_updated = again.item()
"""
_CONV = """
conv = nn.Conv2d(3, $channels, kernel_size=3, stride=2, padding=1)
with torch.no_grad():
    out = conv(torch.randn($images, 3, $size, $size))
q5_elements = out%s.numel()
"""
_SIDE = "(($size + 2 - 3) // 2 + 1)"
_SCORES = """
q, k = torch.randn($batch, $heads, $tokens, $dim), torch.randn($batch, $heads, $tokens, $dim)
scores = q @ k.transpose(-1, -2) / math.sqrt($dim)
q6_scores = scores%s.numel()
"""
_PROBABILITIES = """
probabilities = torch.softmax(scores, dim=-1).half()
q6_memory = %s * probabilities.nbytes / 1e6
"""
_SCALE = """
weights = torch.linspace(-$largest, $largest, 4001)
scale = weights.abs().max().item() / 127
q7_scale = %sscale
"""
_WORST = """
rounded = (weights / scale).round().clamp(-127, 127) * scale
error = (weights - rounded).abs().max().item()
q7_worst = %s
"""
_SOFTMAX = """
logits = torch.tensor([$top, $top - $gap], dtype=torch.float64)
shifted = (logits - logits.max()).exp()
q8_probability = (shifted / shifted.sum())[%s].item()
"""
_OVERFLOW = """
overflows = torch.isinf(torch.exp(torch.tensor(float($top))))
q8_overflow = "%s" if overflows else "%s"
"""
_TRAFFIC = """
x = np.ones($thousands * 1000, np.float32)
y = np.full_like(x, 2.0)
z = x + y
q9_traffic = (x.nbytes + y.nbytes%s) / 1e6
"""
_GRID = """
grid = np.zeros(($stages, $stages + $micro_batches - 1))
for stage in range($stages):
    grid[stage, stage : stage + $micro_batches] = 1
q10_bubble = 100 * (grid == 0).sum() / %s
"""

ANSWERS: tuple[Answer, ...] = (
    Answer(
        name="q1_count",
        points=2,
        right=_MLP % "",
        wrong=_MLP % " if p.dim() > 1",
        key=_MLP_KEY,
        tolerance=0,
    ),
    Answer(
        name="q1_weights",
        points=1,
        right="q1_weights = sum(p.nbytes for p in model.parameters()) / 1e6",
        wrong="q1_weights = sum(p.nbytes for p in model.parameters()) / 2**20",
        key=f"4 * {_MLP_KEY} / 1e6",
        tolerance=0.001,
    ),
    Answer(
        name="q2_half",
        points=1,
        right=_HALF % "low",
        wrong=_HALF % "x",
        key="2 * $batch * $tokens * $width / 1e6",
        tolerance=0.001,
    ),
    Answer(
        name="q2_eight",
        points=2,
        right=_EIGHT % " + scale.nbytes",
        wrong=_EIGHT % "",
        key="($batch * $tokens * $width + 4 * $batch * $tokens) / 1e6",
        tolerance=0.001,
    ),
    Answer(
        name="q3_work",
        points=1,
        right=_MATMUL % "2 * ",
        wrong=_MATMUL % "",
        key="2 * $m * $n * $k / 1e6",
    ),
    Answer(
        name="q3_intensity",
        points=2,
        right="q3_intensity = 2 * c.numel() * a.shape[1] / (a.nbytes + b.nbytes + c.nbytes)",
        wrong="q3_intensity = 2 * c.numel() * a.shape[1] / (a.numel() + b.numel() + c.numel())",
        key="2 * $m * $n * $k / (4 * ($m * $k + $k * $n + $m * $n))",
    ),
    Answer(
        name="q4_gradient",
        points=2,
        right=_STEP % "mean",
        wrong=_STEP % "sum",
        key="15 * ($w - $target)",
    ),
    Answer(
        name="q4_updated",
        points=1,
        right=_STEPPED % "",
        wrong=_STEPPED % "-",
        key="$w - $rate * 15 * ($w - $target)",
    ),
    Answer(
        name="q5_elements",
        points=2,
        right=_CONV % "",
        wrong=_CONV % "[:, 0]",
        key=f"$images * $channels * {_SIDE} ** 2",
        tolerance=0,
    ),
    Answer(
        name="q5_memory",
        points=1,
        right="q5_memory = out.element_size() * out.nelement() / 1e3",
        wrong="q5_memory = out.half().element_size() * out.nelement() / 1e3",
        key=f"4 * $images * $channels * {_SIDE} ** 2 / 1e3",
        tolerance=0.001,
    ),
    Answer(
        name="q6_scores",
        points=2,
        right=_SCORES % "",
        wrong=_SCORES % "[:, 0]",
        key="$batch * $heads * $tokens ** 2",
        tolerance=0,
    ),
    Answer(
        name="q6_memory",
        points=1,
        right=_PROBABILITIES % "2",
        wrong=_PROBABILITIES % "1",
        key="2 * 2 * $batch * $heads * $tokens ** 2 / 1e6",
        tolerance=0.001,
    ),
    Answer(
        name="q7_scale",
        points=2,
        right=_SCALE % "",
        wrong=_SCALE % "2 * ",
        key="$largest / 127",
        tolerance=0.002,
    ),
    Answer(
        name="q7_worst",
        points=1,
        right=_WORST % "error",
        wrong=_WORST % "2 * error",
        key="$largest / 254",
        tolerance=0.02,
    ),
    Answer(
        name="q8_probability",
        points=2,
        right=_SOFTMAX % "0",
        wrong=_SOFTMAX % "1",
        key="1 / (1 + math.exp(-$gap))",
    ),
    Answer(
        name="q8_overflow",
        points=1,
        right=_OVERFLOW % ("A", "B"),
        wrong=_OVERFLOW % ("B", "A"),
        key='("A" if $top > 88.72 else "B")',
        tolerance=None,
    ),
    Answer(
        name="q9_traffic",
        points=1,
        right=_TRAFFIC % " + z.nbytes",
        wrong=_TRAFFIC % "",
        key="12 * $thousands / 1e3",
    ),
    Answer(
        name="q9_time",
        points=2,
        right="q9_time = (x.nbytes + y.nbytes + z.nbytes) / ($bandwidth * 1e9) * 1e6",
        wrong="q9_time = (x.nbytes + y.nbytes) / ($bandwidth * 1e9) * 1e6",
        key="12 * $thousands / $bandwidth",
    ),
    Answer(
        name="q10_bubble",
        points=2,
        right=_GRID % "grid.size",
        wrong=_GRID % "grid.sum()",
        key="100 * ($stages - 1) / ($micro_batches + $stages - 1)",
    ),
    Answer(
        name="q10_needed",
        points=1,
        right="q10_needed = math.ceil(9 * ($stages - 1))",
        wrong="q10_needed = math.ceil(10 * ($stages - 1))",
        key="9 * ($stages - 1)",
        tolerance=0,
    ),
)

POINTS: Mapping[str, int] = {answer.name: answer.points for answer in ANSWERS}
