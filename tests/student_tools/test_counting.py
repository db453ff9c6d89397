"""The counts of `grader/kinds/student_tools/counting.py`, each against a count by hand."""

import mmap
import subprocess
import sys
import threading

import pytest
import torch
from torch.nn import functional as F  # noqa: N812  # as everyone calls it
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils.checkpoint import checkpoint

from grader.kinds import student_tools
from grader.kinds.student_tools.counting import Counter, count, count_flops, saved_bytes
from grader.kinds.student_tools.launches import _asked, counted, launches
from grader.kinds.student_tools.memory import Cache, page_faults

FLOAT = 4
INDEX = 8


def normal(*shape, **kwargs):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).requires_grad_(
        kwargs.get("grad", False)
    )


def by_loops(a, b):
    """Additions and multiplications of a product, entry by entry; the first addition is to 0."""
    flops = 0
    for _ in range(a.shape[0]):
        for _ in range(b.shape[1]):
            for _ in range(a.shape[1]):
                flops += 2
    return flops


A, B = normal(5, 7), normal(7, 3)
X, Y = normal(7), normal(7)
Q, K, V = normal(2, 3, 6, 4), normal(2, 3, 9, 4), normal(2, 3, 9, 4)
ATTENTION = 2 * 3 * (2 * 6 * 9 * 4 + 2 * 6 * 9 * 4)
CONV = 2 * 4 * (8 * 8) * (3 * 3 * 3)


@pytest.mark.parametrize(
    ("run", "flops"),
    [
        (lambda: A @ B, by_loops(A, B)),
        (lambda: torch.mm(A, B, out=torch.empty(5, 3)), by_loops(A, B)),
        (lambda: torch.bmm(normal(4, 5, 7), normal(4, 7, 3)), 4 * by_loops(A, B)),
        (lambda: normal(2, 4, 5, 7) @ B, 8 * by_loops(A, B)),
        (lambda: torch.einsum("ik,kj->ij", A, B), by_loops(A, B)),
        (lambda: torch.einsum("bik,bkj->bij", normal(4, 5, 7), normal(4, 7, 3)), 4 * 210),
        (lambda: torch.einsum("i,j->ij", X, Y), 7 * 7),
        (lambda: F.linear(A, B.T.contiguous()), 210),
        (lambda: F.linear(A, B.T.contiguous(), normal(3)), 210 + 5 * 3),
        (lambda: F.linear(normal(2, 5, 7), B.T.contiguous(), normal(3)), 2 * (210 + 15)),
        (lambda: torch.addmm(normal(3), A, B), 210 + 15),
        (lambda: torch.baddbmm(normal(4, 5, 3), normal(4, 5, 7), normal(4, 7, 3)), 4 * 225),
        (lambda: A @ X, 2 * 5 * 7),
        (lambda: torch.addmv(normal(5), A, X), 2 * 5 * 7 + 5),
        (lambda: X @ Y, 2 * 7),
        (lambda: torch.outer(X, Y), 49),
        (lambda: F.conv2d(normal(2, 3, 8, 8), normal(4, 3, 3, 3), padding=1), 2 * CONV),
        (
            lambda: F.conv2d(normal(1, 3, 8, 8), normal(4, 3, 3, 3), normal(4), padding=1),
            CONV + 256,
        ),
        (lambda: F.conv1d(normal(1, 2, 10), normal(5, 2, 3), stride=2), 2 * 5 * 4 * (2 * 3)),
        (lambda: F.conv2d(normal(1, 6, 5, 5), normal(6, 1, 3, 3), groups=6), 2 * 6 * 9 * 9),
        (lambda: F.scaled_dot_product_attention(Q, K, V), ATTENTION),
        (lambda: F.softmax(A, 1), 5 * 35),
        (lambda: F.log_softmax(A, 1), 5 * 35),
        (lambda: F.layer_norm(A, (7,)), 5 * 35),
        (lambda: F.layer_norm(A, (7,), X, Y), 7 * 35),
        (lambda: A * 2 + 1, 2 * 35),
        (lambda: torch.add(A, A, alpha=0.5), 2 * 35),
        (lambda: A.clone().mul_(2).add_(1), 2 * 35),
        (lambda: torch.addcmul(A, A, A), 2 * 35),
        (lambda: A + X, 35),
        (A.sum, 35),
        (lambda: A.mean(1), 35),
        (lambda: A.var(1), 4 * 35),
        (lambda: A.logsumexp(1), 4 * 35),
        (lambda: torch.relu(A) > 0, 2 * 35),
        (lambda: [A.T, A[0], A.view(7, 5), A.clone(), torch.cat([A, A]), A[[0, 1]]], 0),
    ],
)
def test_flops(run, flops):
    assert count_flops(run) == flops


def test_counts_are_the_same_without_gradients():
    def run():
        y = F.layer_norm(F.linear(A, B.T.contiguous(), normal(3)), (3,))
        return F.cross_entropy(torch.einsum("ij,kj->ik", y, y), torch.arange(5))

    usual = count(run)
    with torch.inference_mode():
        assert count(run) == usual
    with torch.no_grad():
        assert count(run) == usual


def test_flops_of_attention_written_out_are_the_products_and_the_softmax():
    def written_out():
        return F.softmax(Q @ K.transpose(2, 3), dim=-1) @ V

    scores = 2 * 3 * 6 * 9
    assert count_flops(written_out) == ATTENTION + 5 * scores
    assert count(written_out)["product_flops"] == ATTENTION


def test_flops_of_a_backward_pass():
    w, x = normal(3, 7, grad=True), normal(5, 7, grad=True)

    def forward_and_backward():
        w.grad = x.grad = None
        F.linear(x, w).sum().backward()

    forward = 210 + 15  # and the sum
    # dL/dx = g w and dL/dw = g' x, each of as many FLOPs as the forward product.
    assert count_flops(forward_and_backward) == forward + 2 * 210


def test_flops_of_a_backward_pass_leave_out_a_gradient_that_nobody_needs():
    w, x = normal(3, 7, grad=True), normal(5, 7)

    def forward_and_backward():
        w.grad = None
        F.linear(x, w).sum().backward()

    assert count_flops(forward_and_backward) == 210 + 15 + 210


@pytest.mark.parametrize(
    ("run", "products"),
    [
        (lambda w, x: torch.bmm(x, w).sum(), 3 * 4 * 210),
        (lambda w, x: torch.einsum("bik,bkj->bij", x, w).sum(), 3 * 4 * 210),
    ],
)
def test_flops_of_batched_products_backward(run, products):
    def forward_and_backward():
        w, x = normal(4, 7, 3, grad=True), normal(4, 5, 7, grad=True)
        run(w, x).backward()

    assert count(forward_and_backward)["product_flops"] == products


def test_flops_of_a_convolution_and_of_attention_backward():
    def convolution():
        x, w = normal(1, 3, 8, 8, grad=True), normal(4, 3, 3, 3, grad=True)
        F.conv2d(x, w, padding=1).sum().backward()

    def attention():
        q, k, v = (one.clone().requires_grad_() for one in (Q, K, V))
        F.scaled_dot_product_attention(q, k, v).sum().backward()

    assert count(convolution)["product_flops"] == 3 * CONV
    # Forward 2 products; backward the scores once more, and 4 products.
    assert count(attention)["product_flops"] == ATTENTION + ATTENTION // 2 * 5


def test_softmax_backward():
    def forward_and_backward():
        x = normal(5, 7, grad=True)
        F.softmax(x, 1).backward(A)

    assert count_flops(forward_and_backward) == (5 + 4) * 35


def test_what_is_not_known_is_said():
    with Counter() as counter:
        torch.cdist(A, A)
        torch.relu(A)
    assert counter.unknown == {"_cdist_forward"}


@pytest.mark.parametrize(
    ("run", "read", "written", "kernels"),
    [
        (lambda: A + 1, 35, 35, 1),
        (lambda: A * A, 35, 35, 1),
        (lambda: A + B.new_ones(1), 35 + 1, 35 + 1, 2),
        (lambda: torch.ones_like(A), 0, 35, 1),
        (lambda: A @ B, 35 + 21, 15, 1),
        (lambda: F.linear(A, B.T.contiguous(), X[:3]), 21 + 35 + 21 + 3, 21 + 15, 2),
        (lambda: X[:, None] - Y, 7 + 7, 49, 1),
        (lambda: X.expand(100, 7) + 1, 7, 700, 1),
        (A.sum, 35, 1, 1),
        (lambda: torch.cat([A, A + 0]), 35 + 70, 35 + 70, 2),
        (lambda: torch.add(A, 1, out=torch.empty(5, 7)), 35, 35, 1),
        (A.T.contiguous, 35, 35, 1),
        (lambda: torch.empty(5, 7).copy_(A), 35, 35, 1),
        (lambda: torch.zeros(5, 7), 0, 35, 1),
        (lambda: torch.empty(5, 7), 0, 0, 0),
        (lambda: [A.T, A[0], A.view(-1), A[None], A.unbind(), A.detach(), float(A[0, 0])], 0, 0, 0),
    ],
)
def test_bytes_and_kernels(run, read, written, kernels):
    found = count(run)
    assert (found["bytes_read"], found["bytes_written"]) == (FLOAT * read, FLOAT * written)
    assert found["kernels"] == kernels


def test_in_place_operators_read_and_write_and_allocate_nothing():
    x = A.clone()
    found = count(lambda: x.mul_(2))
    assert found["bytes_read"] == found["bytes_written"] == 35 * FLOAT
    assert found["bytes_allocated"] == found["peak_bytes"] == 0


def test_picking_rows_reads_the_rows_and_the_indices():
    table, rows = normal(1000, 8), torch.tensor([3, 1, 4])
    for pick in (lambda: table[rows], lambda: F.embedding(rows, table)):
        found = count(pick)
        assert found["bytes_read"] == 3 * 8 * FLOAT + 3 * INDEX
        assert found["bytes_written"] == 3 * 8 * FLOAT


def test_bytes_by_operator():
    with Counter() as counter:
        whole = torch.empty(0, 7)
        for _ in range(4):
            whole = torch.cat([whole, A * 2])
    assert counter.written_by == {
        "mul": 4 * 35 * FLOAT,
        "cat": (1 + 2 + 3 + 4) * 35 * FLOAT,
    }
    assert counter.names["cat"] == 4


def test_peak_is_what_was_alive_at_one_time():
    def chain(n):
        x = A
        for _ in range(n):
            x = x + 1
        return x

    assert count(chain, 1)["peak_bytes"] == 35 * FLOAT
    assert count(chain, 9)["peak_bytes"] == 2 * 35 * FLOAT
    assert count(chain, 9)["bytes_allocated"] == 9 * 35 * FLOAT
    assert count(lambda: [A + i for i in range(9)])["peak_bytes"] == 9 * 35 * FLOAT


def test_a_view_keeps_its_tensor_alive():
    def kept():
        return [(A + i)[0] for i in range(6)]

    assert count(kept)["peak_bytes"] == 6 * 35 * FLOAT


def mlp(x, w1, w2, activation=torch.relu):
    return F.linear(activation(F.linear(x, w1)), w2)


W1, W2 = normal(16, 8, grad=True), normal(4, 16, grad=True)


def test_saved_bytes_of_an_mlp():
    x = normal(5, 8)
    # Input of the first product; the ReLU's result, which is the second one's input.
    assert saved_bytes(mlp, x, W1, W2) == (5 * 8 + 5 * 16) * FLOAT
    # GELU needs its input, and the second product GELU's result.
    assert saved_bytes(mlp, x, W1, W2, F.gelu) == (5 * 8 + 2 * 5 * 16) * FLOAT


def test_saved_bytes_leave_out_what_a_frozen_layer_does_not_need():
    frozen = W1.detach()
    # No gradient goes into the first layer: its input is not needed, nor is the ReLU's result
    # for itself, but the second product needs it.
    assert saved_bytes(mlp, normal(5, 8), frozen, W2) == 5 * 16 * FLOAT


def test_saved_bytes_with_checkpoint_are_the_inputs():
    def step(x):
        return checkpoint(mlp, x * 2, W1, W2, use_reentrant=False)

    assert saved_bytes(step, normal(5, 8)) == 5 * 8 * FLOAT


def test_saved_bytes_count_a_storage_once():
    x = normal(5, 8, grad=True)
    assert saved_bytes(lambda: (y := x * 2) * y.T.T * y) == 2 * 5 * 8 * FLOAT


def test_saved_bytes_of_softmax_and_layer_norm():
    x, w, b = normal(5, 8, grad=True), normal(8, grad=True), normal(8, grad=True)
    assert saved_bytes(lambda: F.softmax(x * 2, 1)) == 5 * 8 * FLOAT
    # Its input, and a mean and a scale for every row.
    assert saved_bytes(lambda: F.layer_norm(x * 2, (8,), w, b)) == (5 * 8 + 2 * 5) * FLOAT


def test_a_cache_keeps_the_lines_that_were_used_last():
    cache = Cache(size=4 * 64, line=64)
    assert [cache.touch(64 * n) for n in (0, 1, 2, 3)] == [False] * 4
    assert cache.touch(63)
    assert not cache.touch(64 * 4)  # in place of line 1, which waited longest
    assert cache.touch(0)
    assert not cache.touch(64)
    assert (cache.hits, cache.misses) == (2, 6)


def test_lines_of_a_set_make_room_for_each_other():
    direct = Cache(size=4 * 64, line=64, ways=1)
    assert [direct.touch(64 * n) for n in (0, 4, 0, 4)] == [False] * 4
    two = Cache(size=4 * 64, line=64, ways=2)
    assert [two.touch(64 * n) for n in (0, 4, 0, 4)] == [False, False, True, True]


def test_page_faults_grow_with_the_memory_that_is_touched():
    small = page_faults(lambda: mmap.mmap(-1, 4096).write(b"x"))
    large = page_faults(lambda: mmap.mmap(-1, 64_000_000).write(b"x" * 64_000_000))
    assert 0 < small + 20 < large


@pytest.mark.thorough
@pytest.mark.parametrize("tool", ["counting", "launches", "memory"])
def test_a_tool_needs_nothing_of_ours(tool, tmp_path):
    path = tmp_path / "alone.py"
    # Nor PyTorch's compiler, which takes longer to import than all that a student runs.
    used = {
        "counting": "count_flops(lambda: torch.ones(3) @ torch.ones(3))",
        "launches": "assert launches(lambda: torch.ones(3) @ torch.ones(3)) == 3",
        "memory": "Cache(64)",
    }
    ours = "[n for n in sys.modules if n.startswith(('grader', 'torch._dynamo'))]"
    path.write_text(f"{student_tools.source(tool)}\n{used[tool]}\nimport sys\nassert not {ours}\n")
    subprocess.run([sys.executable, "-I", str(path)], check=True, cwd=tmp_path)
    assert len(student_tools.source(tool).splitlines()) < 200


def chain(x, y):
    return x + 0.5 * y * y


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (lambda: A + 1, 1),
        (lambda: A @ B, 1),
        (lambda: F.linear(A, B.T, X[:3]), 1),  # the bias is added by the same kernel
        (lambda: A.clone().mul_(2).add_(1), 3),
        (lambda: chain(A, A), 3),
        (lambda: torch.addcmul(A, A, A, value=0.5), 1),
        (lambda: torch.lerp(A, A, 0.5), 1),
        (lambda: [each + 1 for each in (A, B, X)], 3),
        (lambda: torch._foreach_add([A, B, X], 1), 1),
        (lambda: [A.T, A[0], A.view(-1), A[None], A.unbind(), A.detach(), float(A[0, 0])], 0),
        (lambda: A.clone().t_().unsqueeze_(0), 1),
        (lambda: torch.empty(5, 7), 0),
        (lambda: torch.zeros(5, 7), 1),
        (lambda: torch.empty(5, 7).copy_(A), 1),
        (A.T.contiguous, 1),
        (A.contiguous, 0),
        (lambda: F.layer_norm(A, (7,)), 1),
        (lambda: torch.einsum("ij,jk->ik", A, B), 1),
    ],
)
def test_launches(run, expected):
    assert launches(run) == expected
    with torch.inference_mode():
        assert launches(run) == expected


def test_launches_are_the_kernels_that_the_counter_counts():
    def step():
        w = W1.detach().clone().requires_grad_()
        F.cross_entropy(F.gelu(F.linear(normal(5, 8), w)), torch.arange(5)).backward()
        return w.grad

    assert launches(step) == count(step)["kernels"] > 10
    for run in (lambda: F.softmax(A, 1), lambda: F.scaled_dot_product_attention(Q, K, V)):
        assert launches(run) == count(run)["kernels"]
    assert count(lambda: A.clone().t_())["kernels"] == 1


def test_launches_of_the_backward_pass_are_counted_when_asked_for():
    def double(x):
        return (x * 2).sum()

    assert launches(double, normal(5, 7, grad=True)) == 2
    # The gradient of the sum is a view; that of the product is another product.
    assert launches(double, normal(5, 7, grad=True), backward=True) == 3
    assert launches(double, normal(5, 7), backward=True) == 2  # nobody wants a gradient

    (result, (gradient,)), number = counted(double, normal(5, 7, grad=True), backward=True)
    assert number == 3
    assert torch.equal(gradient, torch.full((5, 7), 2.0))
    assert result.shape == ()


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop"])
def test_a_foreach_optimizer_launches_fewer(name):
    def step(foreach):
        weights = [normal(3, 4, grad=True) for _ in range(6)]
        for weight in weights:
            weight.grad = torch.ones(3, 4)
        return launches(getattr(torch.optim, name)(weights, foreach=foreach).step)

    assert 2 * step(foreach=True) < step(foreach=False)


def test_launches_of_other_threads_and_behind_the_mode_are_counted():
    def threaded():
        thread = threading.Thread(target=lambda: (A @ B).relu().sum())
        thread.start()
        thread.join()

    def hidden():
        with _disable_current_modes():
            return (A @ B).relu().sum()

    for run in (threaded, hidden):
        assert launches(run) == 3
        assert launches(lambda run=run: (A + 1, run())) == 4


def test_a_patched_pytorch_can_not_be_counted(monkeypatch):
    # The mode's own ways in and out were kept when the tool was loaded; all others show.
    monkeypatch.setattr(TorchDispatchMode, "__enter__", lambda self: self)
    assert launches(lambda: chain(A, A)) == 3
    profiler = torch.autograd.profiler
    monkeypatch.setattr(profiler.record_function, "__enter__", lambda self: self)
    monkeypatch.setattr(profiler.record_function, "__exit__", lambda self, *_: None)
    with pytest.raises(RuntimeError, match="PyTorch was changed"):
        launches(lambda: chain(A, A))


def test_what_cuda_was_asked_for_by_the_names_of_its_events():
    # As a profile of `x.add_(1); y.copy_(x); z.zero_(); x.tolist()` names them.
    names = [
        "aten::add_", "cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >",
        "aten::copy_", "cudaMemcpyAsync", "Memcpy DtoD (Device -> Device)",
        "aten::zero_", "cudaMemsetAsync", "Memset (Device)",
        "cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)", "cudaStreamSynchronize",
        "cudaDeviceSynchronize", "cudaGraphLaunch",
    ]  # fmt: skip
    assert _asked(names) == 6


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_launches_on_a_gpu():
    x = torch.ones(64, 64, device="cuda")
    assert launches(lambda x: x + 1, x) == 1
    assert launches(chain, x, x) == 3
    assert launches(lambda x: torch.addcmul(x, x, x, value=0.5), x) == 1
    assert launches(lambda x: [x.T, x[0], x.view(-1)], x) == 0
    assert launches(lambda x: (x * 2).sum(), x.requires_grad_(), backward=True) == 3
    many = [torch.ones(64, device="cuda") for _ in range(20)]
    assert launches(lambda many: torch._foreach_add(many, 1), many) < 20
    assert launches(lambda many: [one + 1 for one in many], many) == 20
