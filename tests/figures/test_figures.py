"""Figures: read from a spec, drawn the same each time, checked by the gate, shown to the right
people."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.text import Text

from grader.bank.folders import Bank
from grader.bank.problem import load_problem
from grader.draw import standalone_paper
from grader.errors import SpecErrors
from grader.figures import (
    explanation_figures,
    figure_png,
    figure_svg,
    figure_types,
    painted_texts,
    prompt_figures,
)
from grader.figures.curve import CurvePicture
from grader.figures.output import _canvas
from grader.figures.schedule import simulate
from grader.figures.steps import messages_of
from grader.figures.timeline import TimelinePicture
from grader.integrations.paper.pages import page_html
from grader.integrations.paper.printing import printed_exam
from grader.notebook import read, write
from grader.notebook.render import metadata, render
from grader.notebook.render.figure_cells import describe_figures
from grader.release.rendering import draw_sample
from grader.verify.gate import verify
from tests.helpers.banks import SPEC
from tests.helpers.figures import ASKED, STACK, variant_of, write_bank

TEMPLATES = (Path(__file__).parents[2] / "templates",)


def test_a_wrong_field_is_an_error_with_its_place(tmp_path: Path) -> None:
    spec = write_bank(tmp_path, STACK.replace("[weights]", "[wieghts]"))
    with pytest.raises(SpecErrors) as error:
        load_problem(spec)
    line = 1 + (SPEC + STACK).splitlines().index("      - {label: all, amounts: [weights]}")
    assert f"sample.yaml:{line}:" in str(error.value)
    assert "did you mean 'weights'?" in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("type: stack", "type: stak", "type of figure 'stak' does not exist"),
        ("type: stack", "type: stack\n    part: shar", "there is no part 'shar'"),
        ("[weights]}", "[weights], color: red}", "unknown key 'color'"),
        ("    alt: Weights on {{ gpus }} GPUs.\n", "", "'alt' is missing"),
    ],
)
def test_mistakes_of_authors_are_found_at_load(
    tmp_path: Path, old: str, new: str, what: str
) -> None:
    with pytest.raises(SpecErrors, match=what):
        load_problem(write_bank(tmp_path, STACK.replace(old, new)))


def test_a_figure_of_the_prompt_may_not_name_an_answer(tmp_path: Path) -> None:
    with pytest.raises(SpecErrors, match="unknown name 'share'"):
        load_problem(write_bank(tmp_path, ASKED.replace("[weights]", "[share]")))


def test_the_gate_refuses_a_prompt_that_shows_the_answer(tmp_path: Path) -> None:
    write_bank(tmp_path, ASKED.replace("[weights]", "[weights / gpus]"))
    (result,) = verify([tmp_path], ["sample"], seeds=2, jobs=1)
    assert [f.check for f in result.findings] == ["figures"]
    assert "the answer of 'share'" in result.findings[0].what


def test_the_gate_accepts_a_prompt_that_shows_given_numbers(tmp_path: Path) -> None:
    write_bank(tmp_path, ASKED)
    (result,) = verify([tmp_path], ["sample"], seeds=3, jobs=1)
    assert result.findings == ()


def test_the_gate_says_which_field_has_no_picture(tmp_path: Path) -> None:
    write_bank(tmp_path, STACK.replace("[weights]", "[weights - 2 * weights]"))
    (result,) = verify([tmp_path], ["sample"], seeds=1, jobs=1)
    assert "must not be negative" in str(result.findings[0])
    assert result.findings[0].where.line == len((SPEC + STACK).splitlines())


def test_notebooks_contain_figures_of_the_prompt_alone(tmp_path: Path) -> None:
    asked = variant_of(tmp_path / "a", ASKED)
    cells = render(standalone_paper([asked], "x"), TEMPLATES)
    (cell,) = [c for c in cells if c.id == "q1-figure-memory"]
    assert cell.source.startswith("![Weights on ")
    assert describe_figures(cell.source).startswith("*Figure: Weights on ")
    kept = read(write(cells, metadata(standalone_paper([asked], "x"))))
    assert kept.cells == cells
    solved = variant_of(tmp_path / "b", STACK)
    assert not any(
        "data:image" in c.source for c in render(standalone_paper([solved], "x"), TEMPLATES)
    )


def test_paper_shows_the_prompt_and_the_key_shows_all(tmp_path: Path) -> None:
    for figures, on_exam in ((STACK, 0), (ASKED, 1)):
        exam = printed_exam(standalone_paper([variant_of(tmp_path, figures)], "A"))
        pages = [page_html(name, exam, TEMPLATES).decode() for name in ("exam", "key")]
        assert [page.count("<svg") for page in pages] == [on_exam, 1]


def test_equal_figures_of_a_page_are_drawn_once(tmp_path: Path) -> None:
    asked = variant_of(tmp_path / "a", ASKED)
    exam = printed_exam(standalone_paper([asked, variant_of(tmp_path / "b", ASKED)], "A"))
    page = page_html("exam", exam, TEMPLATES).decode()
    assert page.count("<title>Weights on") == page.count("<use href=") == 2
    assert page.count('<g id="figure-') == page.count("<defs><g id") == 1
    shared = page.partition("<body>")[2]
    assert shared.startswith('<svg style="position: absolute" width="0" height="0" aria-hidden')
    drawn = shared.partition('<g id="')[2].partition('"')[0]
    assert page.count(f'<use href="#{drawn}"/></svg>') == 2
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))


LANES = """\
figures:
  - id: rounds
    type: timeline
    unit: ""
    across: Round
    alt: What every GPU does.
    lanes:
      - label: GPU {{ lane }}
        count: gpus
        bars:
          - {kind: work, label: "{{ i }}", start: lane + 4 * i, length: 2, count: 2}
"""


def test_a_timeline_may_have_as_many_lanes_as_the_variant_says(tmp_path: Path) -> None:
    variant = variant_of(tmp_path, LANES)
    (one,) = explanation_figures(variant)
    picture = one.picture
    assert isinstance(picture, TimelinePicture)
    assert [lane.label for lane in picture.lanes] == [
        f"GPU {n}" for n in range(int(str(variant.draw.scope["gpus"])))
    ]
    assert [bar.start for bar in picture.lanes[1].bars] == [1, 5]
    assert "Round" in painted_texts(one)


@pytest.mark.thorough
def test_the_same_numbers_give_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    code = f"""
import hashlib, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from grader.figures import explanation_figures, figure_png, figure_svg
from tests.helpers.figures import STACK, variant_of
(one,) = explanation_figures(variant_of(Path({str(tmp_path)!r}), STACK))
print(hashlib.sha256(figure_svg(one).encode() + figure_png(one)).hexdigest())
"""
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1] != ""


@pytest.mark.thorough
def test_loading_and_drawing_numbers_does_not_import_matplotlib(tmp_path: Path) -> None:
    code = """
import json, sys
from grader.bank.folders import Bank
from grader.figures import explanation_figures
from grader.release.rendering import draw_sample
explanation_figures(draw_sample(Bank.open(()), "roofline-ridge-batch"))
print(json.dumps("matplotlib" in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert json.loads(done.stdout) is False


EXAMPLES = {
    "roofline": "roofline-ridge-batch",
    "pipeline": "pipeline-bubble",
    "timeline": "overlap-exposed-communication",
    "stack": "kv-cache-size",
    "curve": "amdahl-scaling-efficiency",
    "steps": "ring-phases",
    "warp": "coalescing-transactions",
    "bits": "float-format-extremes",
    "grid": "tiled-matmul",
    "hierarchy": "host-device-copies",
}


def test_the_bank_has_an_example_of_every_type() -> None:
    assert set(figure_types) == set(EXAMPLES)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_every_type_is_small_valid_and_has_a_text_alternative(name: str) -> None:
    figures = explanation_figures(draw_sample(Bank.open(()), EXAMPLES[name]))
    one = next(figure for figure in figures if figure.type == name)
    svg = figure_svg(one)
    root = ElementTree.fromstring(svg)
    assert root[0].tag.endswith("title")
    assert root[0].text == root.get("aria-label") == one.alt
    assert len(svg.encode()) <= 60_000
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    assert figure_png(one).startswith(b"\x89PNG")


def test_figures_of_the_explanation_are_not_in_the_prompt() -> None:
    variant = draw_sample(Bank.open(()), "kv-cache-size")
    assert prompt_figures(variant) == ()


@pytest.mark.parametrize(("stages", "count"), [(4, 8), (3, 3), (4, 2)])
def test_both_schedules_take_the_time_of_the_formula(stages: int, count: int) -> None:
    for order in ("gpipe", "1f1b"):
        slots = simulate(stages, count, order, 1.0, 2.0)
        assert len(slots) == 2 * stages * count
        assert max(slot.end for slot in slots) == 3 * (count + stages - 1)


def test_a_ring_reduces_every_chunk_once() -> None:
    held = [{(chunk, rank) for chunk in range(5)} for rank in range(5)]
    for one in messages_of("reduce-scatter", 5, 4):
        held[one.receiver] |= {x for x in held[one.sender] if x[0] == one.chunk}
    for rank in range(5):
        assert any({(c, r) for r in range(5)} <= held[rank] for c in range(5))


def test_a_tree_reaches_every_rank() -> None:
    reached = {0}
    for one in messages_of("tree", 11, 4):
        assert one.sender in reached
        reached.add(one.receiver)
    assert reached == set(range(11))


CURVE = """\
figures:
  - id: cost
    type: curve
    alt: The cost.
    first: 1
    last: 3
    across: GPU hours
    up: "$5 for 50% of $8"
    lines:
      - {label: "A100: $2/h, H100: $4/h", value: VALUE}
"""


@pytest.mark.thorough
def test_dollars_in_labels_are_no_formulas(tmp_path: Path) -> None:
    figure = explanation_figures(variant_of(tmp_path, CURVE.replace("VALUE", "2 * x")))[0]
    assert figure_svg(figure)
    with _canvas(figure) as canvas:
        assert not any(text.get_parse_math() for text in canvas.findobj(Text))


@pytest.mark.thorough
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", ["x - 4", "-2", "0", "-x * x", "x - 2", "3"])
def test_a_curve_is_inside_its_axes(value: str, tmp_path: Path) -> None:
    figure = explanation_figures(variant_of(tmp_path, CURVE.replace("VALUE", value)))[0]
    assert isinstance(figure.picture, CurvePicture)
    values = figure.picture.lines[0].values
    with _canvas(figure) as canvas:
        bottom, top = canvas.axes[0].get_ylim()
    assert bottom <= min(values) <= max(values) < top
    assert bottom == 0 or min(values) < 0
