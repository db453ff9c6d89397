# make demo      a whole exam on made-up submissions, from roster to report
# make test      the tests to run while you work: under four minutes on two cores
# make thorough  the rest of the tests that every change must pass
# make test-all  every test that needs no GPU, the long ones included
# make lint      ruff and mypy
# make bench     measure against other graders, into benchmarks/results (half an hour)
#
# The first of these sets up .venv; with PYTHON=python3.12 it sets it up for that Python.
PYTHON ?= python3
# Pinned: a newer release may bring gigabytes of CUDA packages that no test needs.
TORCH ?= torch==2.13.0
VENV ?= .venv
BIN := $(VENV)/bin
# The version is part of a file's name, so that with another PYTHON the environment is made again.
VERSION_OF = -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
VERSION := $(shell $(PYTHON) $(VERSION_OF))
MADE := $(VENV)/.python-$(VERSION)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test thorough test-all slow bench lint types format verify clean

demo: $(VENV)/.installed
	$(BIN)/grader demo --out demo

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n auto -m "not slow and not thorough and not gpu"

thorough: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n auto -m "thorough and not slow and not gpu"

test-all: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n auto -m "not gpu"

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

$(MADE):
	@test -n "$(VERSION)" || { echo "$(PYTHON) can't be run; name Python 3.11 or newer, such as: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is Python $(VERSION), and 3.11 or newer is needed; name one, such as: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@test ! -e $(VENV) || test -e $(VENV)/pyvenv.cfg || { echo "$(VENV) is not a virtual environment; move it away, or name another folder with VENV" >&2; exit 1; }
	@test "`$(BIN)/python $(VERSION_OF)`" = "$(VERSION)" || $(PYTHON) -m venv --clear $(VENV)
	@rm -f $(VENV)/.python-*
	@touch $@

$(VENV)/.installed: pyproject.toml $(MADE)
	@echo "Installing the grader and what it needs into $(VENV), about a minute ..."
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "Installing torch and the tools for development into $(VENV), a few minutes ..."
	$(PIP) install "$(TORCH)" --editable ".[dev]"
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	$(PIP) install "$(TORCH)" --editable ".[bench]"
	touch $@

clean:
	rm -rf $(VENV) .bench demo build dist
