# make run | test | lint | bench | figures; everything happens in .venv, made on first use.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DEV := .venv/.dev

.PHONY: run test fast lint bench protocol clean

run: $(READY)
	$(BIN)/dpmarket run three_insurers

test: $(DEV)
	$(BIN)/python -m pytest -q

fast: $(DEV)
	$(BIN)/python -m pytest -q -m "not slow"

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(DEV)
	$(BIN)/python -m benchmarks

protocol: $(READY)
	$(BIN)/dpmarket reproduce protocol $(if $(DATA),--data $(DATA))

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or later is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(DEV): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv build *.egg-info .pytest_cache .ruff_cache .mypy_cache
