"""Parts with options whose right answer is the same for every student.

A student who hears the answer to such a part from another student gets its points. Where the
question allows it, the numbers, the wording, or the options therefore vary. The other parts are
listed here, each with a reason.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed
from grader.kinds.choice import ChoiceKey
from grader.kinds.matching import MatchingKey
from grader.kinds.multi_choice import MultiChoiceKey
from grader.kinds.ordering import OrderingKey
from grader.kinds.texts import fill
from grader.kinds.true_false import TrueFalseKey
from grader.model import Key

BANK = Bank.open()
VARIANTS = 40

ALLOWED = {
    "names and roles: every item is a question by itself": """
        choose-a-plan/axes chunked-cross-entropy/prices collectives/which
        cuda-builds-and-contexts/origins energy-of-a-layer/scenarios
        galore-sharded-gradients/variants gradient-check/symptoms histogram-atomics/spaces
        in-context-learning-cost/changes linear-layer-backward/needed
        lora-rank-scaling/other_initialization memory-of-a-training-step/effects
        optimizer-offload/techniques overlap-exposed-communication/signatures
        parameter-efficient-fine-tuning/families
        sampling-profile/tools soft-labels/kinds_of tensor-parallel-communication/split
        threads-versus-processes/start_methods traffic-by-strategy/growth
        weak-and-strong-scaling/names
    """,
    "the order of a procedure, whose steps need one another whatever the sizes are": """
        cpython-compilation/order energy-of-a-layer/aware lora-injection/recipe
        q-galore-memory/steps step-of-3d-parallelism/events timing-protocol/protocol
        training-loop-faults/order transformer-block-structure/block
        transformer-block-structure/heads
    """,
    "what an interpreter, a library, or a tool does": """
        compensated-summation/fast_math
        cpu-time-and-elapsed-time/questions host-device-copies/pinned_facts
        integers-without-a-library/cause lora-injection/after_load
        lost-update-lock/interpreter_lock mfu-from-throughput/monitor
        one-hot-times-gradient/indexing python-compilers/installed pytorch-components/replace
        sampling-profile/claims self-time-from-a-trace/hot start-methods-objects/after_fork
        start-methods-objects/fewer_copies start-methods-objects/forkserver
        start-methods-objects/through_pickle timing-protocol/spoils
        triton-fused-elementwise/interpreted work-and-span/lazy
    """,
    "what a published method does or needs": """
        adaptive-step-sizes/scaled adaptive-step-sizes/turns attention-exponentials/incoherent
        channels-by-regression/needed gradient-noise/established gradient-staleness/practice
        in-context-learning-cost/foundation in-context-learning-cost/in_context
        parameter-efficient-fine-tuning/qlora
        quantization-range-setting/methods soft-labels/first_stage soft-labels/smoothing
        stragglers/statements transformer-block-structure/trainable
    """,
    "a property of an algorithm or a formula, which holds for all sizes": """
        activation-smoothing/per_channel channel-pruning/residual collectives/same_result
        data-parallel-equivalence/exact ddp-versus-fsdp-traffic/order distillation-loss/squared
        distributed-matmul/halves
        fold-the-affine-chain/compare fusion-traffic/holds gradient-accumulation-plan/statements
        gradient-buckets/drift gradient-check/directional loss-at-initialization/remedies
        magnitude-pruning-schedule/combined masked-fine-tuning/enough micro-autodiff/kept
        momentum-on-a-quadratic/direction positions-in-16-bits/statements ring-all-reduce/gain
        ring-phases/bits scaled-dot-product-attention/mixed
        sharded-optimizer-step/clipping straight-through-estimator/without
        tiled-attention-backward/identity traffic-by-strategy/divided
        vocab-parallel-loss/local_maxima weight-clustering/arithmetic
    """,
    "the cause of what the problem is about: in another regime, it would be another problem": """
        activation-memory-counted/segment adam-in-place/matters
        ddp-versus-fsdp-traffic/keep decode-without-a-cache/gap dynamic-loss-scaler/collapse
        histogram-atomics/remedy launches-of-an-optimizer/remedy
        read-the-operator-table/add_cause weighted-nearest-centers/still_slow
    """,
}


def content(key: Key) -> tuple[object, tuple[str, ...]] | None:
    """What is right, in words instead of letters, and all options; None without options."""
    if not isinstance(key, ChoiceKey | MultiChoiceKey | TrueFalseKey | MatchingKey | OrderingKey):
        return None
    words = {choice.letter: choice.text for choice in key.choices}
    right: object
    if isinstance(key, ChoiceKey):
        right = words[key.right]
    elif isinstance(key, MultiChoiceKey):
        right = frozenset(map(words.__getitem__, key.right))
    elif isinstance(key, TrueFalseKey):
        right = (fill(key.part.ask, key.draw), key.right, words.get(key.reason))
    elif isinstance(key, MatchingKey):
        right = frozenset(zip(key.items, map(words.__getitem__, key.right), strict=True))
    else:
        right = frozenset((words[a], words[b]) for a, b in key.before)
    return right, tuple(sorted(words.values()))


def same_for_all() -> Iterator[str]:
    """The parts with the same options and the same right ones in all variants.

    Recall sheets ask for facts alone; that students get different ones is tested with the sheets.
    """
    for problem in BANK.problems():
        if problem.level == "recall":
            continue
        found: dict[str, set[object]] = {}
        for number in range(VARIANTS):
            variant = draw(problem, sample_seed(problem.id, number), BANK.facts)
            for part, key in variant.keys.items():
                if (what := content(key)) is not None:
                    found.setdefault(part, set()).add(what)
        yield from (f"{problem.id}/{part}" for part, seen in found.items() if len(seen) == 1)


@pytest.mark.thorough
def test_only_facts_have_the_same_right_option_for_every_student() -> None:
    allowed = [part for parts in ALLOWED.values() for part in parts.split()]
    assert len(allowed) == len(set(allowed))
    found = set(same_for_all())
    assert found - set(allowed) == set(), "let the numbers, the wording, or the options vary"
    assert set(allowed) - found == set(), "these vary now, so take them from the list"
