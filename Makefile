# Every target makes its own virtual environment: a clean clone needs Python >= 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo examples test test-all check bench clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test,bench]"
	touch $(READY)

demo: $(READY)
	$(BIN)/mercer demo --out demo

examples: $(READY)
	for file in examples/[a-z]*.py; do $(BIN)/python $$file || exit 1; done

# One process for each core, with one thread of BLAS: cores that wait for each other cost more than they give.
test test-all: export OPENBLAS_NUM_THREADS = 1

test: $(READY)
	$(BIN)/python -m pytest -n auto --cov --cov-report=term

test-all: $(READY)
	$(BIN)/python -m pytest -n auto -m "slow or not slow" --cov --cov-report=term

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	for file in benchmarks/[a-z]*.py; do $(BIN)/python $$file || exit 1; done

clean:
	rm -rf $(VENV) build dist demo .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
