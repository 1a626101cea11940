# One command for each thing a contributor does; `make` alone lists them.
#
# Needs Python >= 3.11 (with venv and pip), make and git. No Redis: the product brings an embedded Valkey.
#   PYTHON=python3.12 make test     another interpreter
#   make test ARGS="-k cron -x"     arguments for pytest

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

# Every Python tool here runs from the venv, whatever the caller has active or set.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check

# The stamps say which constraints.txt and pyproject.toml the venv was made from. While neither has changed, make
# starts nothing, so the second `make run` is at work at once.
RUN_READY := $(VENV)/.ready-to-run
DEV_READY := $(VENV)/.ready-to-develop

.DEFAULT_GOAL := help
.PHONY: help run test test-sweep test-ticks lint format check bench bench-micro dist clean constraints
.DELETE_ON_ERROR:

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

run: $(RUN_READY) ## everything on this machine, with the example app and schedules; Ctrl-C stops it
	@exec $(BIN)/oncue up examples.app:app --config examples/oncue.yaml --data-dir .run

test: $(DEV_READY) ## all tests; ARGS="-k word" for some
	$(BIN)/python -m pytest $(ARGS)

test-sweep: $(DEV_READY) ## cron against a walk over every minute, at every change of clock of every zone, 1990 to 2037
	ONCUE_CRON_SWEEP=all $(BIN)/python -m pytest tests/cron/test_cron_clock_changes.py $(ARGS)

test-ticks: $(DEV_READY) ## 200 kills of two to five schedulers at the ticks of one schedule, 1,000 planned instants: 17 minutes
	ONCUE_TICK_ROUNDS=200 $(BIN)/python -m pytest tests/chaos/test_once_per_tick.py $(ARGS)

lint: $(DEV_READY) ## ruff, mypy (strict), pyright and luacheck; changes nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python -m tests.lua.lint

format: $(DEV_READY) ## rewrite the Python files as ruff wants them
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: lint test ## the whole gate: lint and test

dist: $(DEV_READY) ## wheel and sdist into dist/
	rm -rf build dist
	$(BIN)/python -m build --no-isolation --outdir dist .

bench: $(DEV_READY) ## oncue and its peers side by side; ARGS="--only lateness,idle --peers oncue,celery --quick"
	$(BIN)/python -m bench $(ARGS)

bench-micro: $(DEV_READY) ## hot paths against bare calls of redis-py, in one run
	$(BIN)/python -m bench.micro $(ARGS)

clean: ## drop all that was built here, the venv too; .run (the data of `make run`) stays
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "oncue needs Python 3.11 or newer; $(PYTHON) is older or missing: name another with PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo "$(PYTHON) has no venv module: install it (on Debian: apt-get install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The first part of constraints.txt is what the product itself needs: enough for `make run`, and a fraction of the
# downloads. The package is built by the setuptools just installed, not by a newer one fetched without a hash.
$(RUN_READY): constraints.txt pyproject.toml | $(VENV)/bin/python
	sed '/^# Development/,$$d' constraints.txt > $(VENV)/runtime.txt
	$(PIP) install --require-hashes -r $(VENV)/runtime.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(DEV_READY): $(RUN_READY)
	$(PIP) install --require-hashes -r constraints.txt
	@touch $@

# Needs uv (any recent version, from anywhere on PATH). --universal resolves for all Pythons and platforms at once.
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
  --no-config --no-emit-index-url --no-emit-find-links --upgrade
constraints: ## pin the newest versions in constraints.txt
	@rm -rf build/pins && mkdir -p build/pins
	@echo 'setuptools>=77' > build/pins/build.in
	$(COMPILE) pyproject.toml build/pins/build.in -o build/pins/runtime.txt
	$(COMPILE) pyproject.toml --extra dev -c build/pins/runtime.txt -o build/pins/all.txt
	@{ echo '# Made by `make constraints`: every version that is tested, with its hashes. No addresses in here.'; \
	  echo '# Runtime, and the setuptools that builds the package.'; \
	  cat build/pins/runtime.txt; \
	  echo '# Development: what `make check` needs beside the above. The Makefile cuts at this line.'; \
	  awk 'NR == FNR { if (/^[a-z]/) known[$$1] = 1; next } /^[a-z]/ { new = !($$1 in known) } new' \
	    build/pins/runtime.txt build/pins/all.txt; } > constraints.txt
	@rm -rf build/pins
