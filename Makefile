# One virtual environment, filled by what each target needs: a clean clone needs Python >= 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo examples test test-all test-uncompiled check bench clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp for each extra of pyproject.toml: $(VENV)/.ready-cli, .ready-test, .ready-bench.
# $(BIN)/python must exist, but its date does not count: it is a link, and its date is that of the system's Python.
$(VENV)/.ready-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	touch $@

demo: $(VENV)/.ready-cli
	$(BIN)/mercer demo --out demo

examples: $(VENV)/.ready-cli
	for file in examples/[a-z]*.py; do $(BIN)/python $$file || exit 1; done

# One process for each core, with one thread of BLAS: cores that wait for each other cost more than they give.
test test-all: export OPENBLAS_NUM_THREADS = 1

test: $(VENV)/.ready-test
	$(BIN)/python -m pytest -n auto --cov --cov-report=term

test-all: $(VENV)/.ready-test
	$(BIN)/python -m pytest -n auto -m "slow or not slow" --cov --cov-report=term

# Loops that are compiled otherwise run as Python, so that coverage sees their lines: small tests, since that is slow.
test-uncompiled: export NUMBA_DISABLE_JIT = 1
test-uncompiled: export OPENBLAS_NUM_THREADS = 1

test-uncompiled: $(VENV)/.ready-test
	$(BIN)/python -m pytest -n auto -m "uncompiled and not slow" --cov --cov-report=term

check: $(VENV)/.ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.ready-bench
	for file in benchmarks/[a-z]*.py; do $(BIN)/python $$file || exit 1; done

clean:
	rm -rf $(VENV) build dist demo .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
