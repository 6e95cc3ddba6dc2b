# make run | test | long | fast | deep | exchange | federated | beside | notebooks | browser | golden | kernel | planted | chances | lint | bench | reproduction | protocol | docs | site | picture | installed | clean; everything happens in .venv, made on first use (federated and beside: in .venv-federated and .venv-beside).

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DEV := .venv/.dev
APP := .venv/.app
FLOWER := .venv-federated/.ready
BESIDE := .venv-beside/.ready

TESTS := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
	$(BIN)/python -m pytest -q -n auto --dist worksteal  # a worker per core, its products on one thread
HERE := not notebook and not browser and not golden and not exchange and not federated and not beside
KERNEL ?= Nehalem
CHROMIUM ?= chromium
TO_THE_LAST_BIT := tests/learning/losses tests/learning/training tests/learning/forecast tests/market/equilibrium

.PHONY: run test long fast deep exchange federated beside notebooks browser golden kernel planted chances lint bench reproduction protocol docs site picture installed clean

run: $(READY)
	$(BIN)/dpmarket run three_insurers

test: $(DEV)
	$(TESTS) -m "not long and not deep and $(HERE)"

long: $(DEV)  # the slowest tests
	$(TESTS) -m "long and not deep and $(HERE)"

deep: $(DEV)  # tests by chance and by search in full, an hour: every night
	DEEP=1 $(TESTS) -m "(slow or deep) and $(HERE)"

exchange: $(DEV)  # whole exchanges, a process for each party, killed and resumed
	$(TESTS) -m exchange

federated: $(FLOWER)  # exchanges over Flower: its apps in one process, then programs of its own on loopback
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-federated/bin/python -m pytest -q -n 2 --dist worksteal tests/exchange/flower

beside: $(BESIDE)  # outside private learners and ours on the same rows, resumable: docs/reference/beside.md; make beside DATA=DIR SEEDS=20
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(if $(DATA),DPMARKET_DATA=$(DATA)) .venv-beside/bin/python -m pytest -q -m beside tests/reproduction/test_beside.py
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-beside/bin/dpmarket reproduce beside $(if $(DATA),--data $(DATA)) --seeds $(or $(SEEDS),20) --out docs/reference

notebooks: $(DEV)  # each from its first cell to its last
	$(TESTS) -m notebook

browser: $(APP)  # the dashboard in a headless chromium, which root has installed where it is not there
	for needed in $(CHROMIUM) chromedriver; do command -v $$needed >/dev/null || missing=yes; done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver; fi
	BROWSER=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -s -m browser tests/scenarios/dashboard

golden: $(DEV)  # the reproduction book on stand-ins, and with DATA=DIR on the published tables, against what it gave before
	$(if $(DATA),DPMARKET_DATA=$(DATA)) OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m golden tests/reproduction

fast: $(DEV)
	$(TESTS) -m "not slow and not deep and $(HERE)"

kernel: $(DEV)  # products as another processor makes them; Nehalem and SkylakeX passed, and with them all quick tests of tests/market
	OPENBLAS_CORETYPE=$(KERNEL) $(TESTS) -m "(not slow or listed) and not deep" $(TO_THE_LAST_BIT)

planted: $(DEV)  # which planted bugs the audit of a scenario sees: make planted SCENARIO=three_insurers ARGS="--set learning.mechanism=l2"
	PYTHONPATH=.:tests OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m planting $(or $(SCENARIO),three_insurers) $(ARGS)

chances: $(DEV)  # how often buying paid where it was said to, on 240 markets of fifteen tables, resumable: make chances DATA=DIR
	PYTHONPATH=.:tests OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m chances $(if $(DATA),--data $(DATA)) $(ARGS)

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(DEV)
	$(BIN)/python -m benchmarks

reproduction: $(READY)  # docs/reproduction.md with its figures and numbers, from the published tables
	$(BIN)/dpmarket reproduce all --data $(DATA) --out docs

protocol: $(READY)
	$(BIN)/dpmarket reproduce protocol $(if $(DATA),--data $(DATA))

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or later is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	$(BIN)/python -m compileall -q -j 0 learning market agents scenarios exchange reproduction
	touch $@

$(DEV): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

$(APP): $(DEV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,app,browser]"
	touch $@

$(FLOWER): pyproject.toml  # an environment of its own: Flower holds back libraries that the main one has newer
	test -x .venv-federated/bin/python || $(PYTHON) -m venv .venv-federated
	.venv-federated/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[federated]" "pytest>=9" "pytest-xdist>=3.5" "hypothesis>=6.100"
	.venv-federated/bin/python -m pip check
	touch $@

$(BESIDE): pyproject.toml  # an environment of its own: its learners hold back libraries that the main one has newer
	test -x .venv-beside/bin/python || $(PYTHON) -m venv .venv-beside
	.venv-beside/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[beside]" "pytest>=9" "pytest-xdist>=3.5" "hypothesis>=6.100"
	.venv-beside/bin/python -m pip check
	touch $@

docs: $(READY)  # the generated parts of docs/reference
	$(BIN)/python -m scenarios.reference

site: $(DEV)  # build/site/docs/index.html: these pages with the notebooks, the gallery, the docstrings and a search; a broken link fails
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,site]"
	rm -rf docs/api docs/gallery
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -c docs . build/site

picture: $(APP)  # docs/report.png and docs/dashboard.png: the first screens of a report and of the dashboard, where there is a chromium
	$(BIN)/dpmarket run three_insurers --out build/three_insurers --force
	$(CHROMIUM) --headless --no-sandbox --hide-scrollbars --window-size=900,1085 \
		--screenshot=docs/report.png file://$(CURDIR)/build/three_insurers/report.html
	$(BIN)/python -c "from PIL import Image; p = 'docs/report.png'; Image.open(p).convert('RGB').quantize(64).save(p, optimize=True)"
	$(BIN)/python tests/browsing.py docs/dashboard.png

installed:  # sdist and wheel in empty environments, each command once: make installed PYTHON=python3.13
	$(PYTHON) packaging/try_install.py

clean:
	rm -rf .venv .venv-federated .venv-beside build *.egg-info .pytest_cache .ruff_cache .mypy_cache
