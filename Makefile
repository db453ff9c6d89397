# make demo   a whole exam on made-up submissions, from roster to report
# make test   the tests that every change must pass
# make lint   ruff and mypy
# make slow   the longer tests
# make bench  measure against other graders, into benchmarks/results (half an hour)
PYTHON ?= python3
# Pinned: a newer release may bring gigabytes of CUDA packages that no test needs.
TORCH ?= torch==2.13.0
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test slow bench lint types format verify clean

demo: $(VENV)/.installed
	$(BIN)/grader demo --out demo

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n auto -m "not slow and not gpu"

slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -m slow

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/run.py $(BENCH)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

verify: $(VENV)/.installed-dev
	$(BIN)/grader verify

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) install "$(TORCH)" --editable ".[dev]"
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	$(PIP) install "$(TORCH)" --editable ".[bench]"
	touch $@

clean:
	rm -rf $(VENV) .bench demo build dist
