# make demo      a whole exam on made-up submissions, from roster to report
# make test      the tests to run while you work: under four minutes on two cores
# make thorough  the rest of the tests that every change must pass
# make test-all  every test that needs no GPU, the long ones included
# make coverage  fails if the tests of scoring, points, kinds, and units miss a branch of them
# make flaky     the quick tests ten times on a busy machine (TIMES=3: three times); counts failures
# make lint      ruff and mypy; needs no torch
# make docs      the documentation site, into build/site
# make bench     measure against other graders, into benchmarks/results (half an hour)
#
# The first of these sets up .venv; with PYTHON=python3.12 it sets it up for that Python.
PYTHON ?= python3
# The build for CPUs is enough for the tests. If its index can't be reached, pip's usual index is used.
TORCH ?= torch==2.13.0
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
VENV ?= .venv
BIN := $(VENV)/bin
# The tests of the modules that `make coverage` measures.
COVERING := tests/grading tests/kinds tests/units tests/contract tests/release \
  tests/report/test_item_statistics.py tests/runtime/test_measurements.py \
  tests/web/desk/test_desk_evidence.py tests/web/desk/test_desk_shortcuts.py
TIMES ?= 10
# Tests start Python hundreds of times, which must not compile the grader each time.
export PYTHONDONTWRITEBYTECODE :=
# Each worker gets a row of tests, which share what their modules set up, and takes from the other's
# row when it is done.
PYTEST := $(BIN)/python -m pytest -q -n auto --dist worksteal
# The version is part of a file's name, so that with another PYTHON the environment is made again.
VERSION_OF = -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
VERSION := $(shell $(PYTHON) $(VERSION_OF))
MADE := $(VENV)/.python-$(VERSION)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test thorough test-all slow coverage flaky bench lint docs verify clean

demo: $(VENV)/.installed
	$(BIN)/grader demo --out demo

test: $(VENV)/.installed-dev
	$(PYTEST) -m "not slow and not thorough and not gpu"

thorough: $(VENV)/.installed-dev
	$(PYTEST) -m "thorough and not slow and not gpu"

test-all: $(VENV)/.installed-dev
	$(PYTEST) -m "not gpu"

slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -m slow

coverage: $(VENV)/.installed-dev
	$(PYTEST) -m "not slow and not gpu" $(COVERING) --cov

flaky: $(VENV)/.installed-dev
	$(BIN)/python .ci/flaky.py $(TIMES)

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/run.py $(BENCH)

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed-docs
	rm -rf build/demo build/catalogue
	$(BIN)/grader demo --out build/demo
	$(BIN)/grader catalogue --out build/catalogue
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The site: build/site/index.html"

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

$(VENV)/.installed-lint: $(VENV)/.installed
	@$(PIP) install --editable ".[lint]"
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	@$(PIP) install --editable ".[docs]"
	@touch $@

$(VENV)/.installed-torch: $(VENV)/.installed
	@echo "Installing torch and the tools for development into $(VENV), a few minutes ..."
	@$(PIP) install --timeout 10 --retries 1 --index-url "$(TORCH_INDEX)" --no-deps "$(TORCH)" 2>/dev/null \
	  || $(PIP) install "$(TORCH)"
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed-torch
	@$(PIP) install "$(TORCH)" --editable ".[dev,lint]"
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	$(PIP) install "$(TORCH)" --editable .
	touch $@

clean:
	rm -rf $(VENV) .bench demo build dist
