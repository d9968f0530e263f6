# Everything runs in .venv, which `make` builds where it is missing. PYTHON picks the interpreter.

PYTHON ?= python3
BIN := .venv/bin
CONFIGS := $(basename $(notdir $(wildcard configs/*.yaml)))
TRAINED := $(filter extrapolate-train-%,$(CONFIGS))
EXPERIMENTS := $(filter-out $(TRAINED),$(CONFIGS))

.DEFAULT_GOAL := help
.PHONY: help setup demo experiments test fuzz mutants check peers bench format lint types schema clean $(CONFIGS)

help: ## list every target
	@echo "targets:"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1: \2/p' $(MAKEFILE_LIST)
	@echo "one target per experiment, each running its file in configs/:"
	@printf '  %s\n' $(CONFIGS)

setup: .venv/installed ## build the virtual environment and install poscli into it

.venv/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("poscli needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv .venv
	@echo "installing poscli into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: setup ## set everything up, run the main job, then every experiment
	@$(BIN)/poscli permute-test "dog bites man"
	@for name in $(EXPERIMENTS); do echo; $(MAKE) --no-print-directory $$name || exit 1; done

experiments: setup ## train the models of the README and draw their curves into build/
	@mkdir -p build
	@for name in $(TRAINED); do \
	  echo; $(BIN)/poscli extrapolate --train --config configs/$$name.yaml \
	    --cache build/runs --force --plot build/$$name.svg || exit 1; \
	done

$(CONFIGS): %: setup
	@$(BIN)/poscli $$(sed -n 's/^command: //p' configs/$@.yaml) --config configs/$@.yaml

test: setup ## set everything up and run the tests
	@$(BIN)/pytest

fuzz: setup ## try random inputs for minutes; SEED=7 and INPUTS=500000 choose which and how many
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/fuzz/long.py \
	  $(if $(SEED),--seed $(SEED)) $(if $(INPUTS),--inputs $(INPUTS))

check: format lint types test ## what CI runs: format, lint, types, tests

peers: .venv-peers/installed ## run the tests against the installed libraries, in .venv-peers
	@OPENBLAS_NUM_THREADS=1 .venv-peers/bin/pytest tests/peers -m peers -W default

.venv-peers/installed: pyproject.toml
	@$(PYTHON) -m venv .venv-peers
	@echo "installing the libraries that poscli is held against into .venv-peers"
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[peers]'
	@touch $@

mutants: setup ## break the formulas one at a time and count what the tests catch
	@$(BIN)/python tests/mutants $(FILES)

bench: .venv-peers/installed ## print what was measured beside its goals, of all SUBJECTS or those named
	@env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
	  .venv-peers/bin/python tests/benchmarks $(SUBJECTS)

format: setup ## check the format of the code
	@$(BIN)/ruff format --check .

lint: setup ## look for mistakes in the code
	@$(BIN)/ruff check .

types: setup ## check the types
	@$(BIN)/mypy

schema: setup ## write configs/schema.json anew
	@$(BIN)/poscli schema > configs/schema.json

clean: ## remove the environment and everything built
	@rm -rf .venv .venv-peers build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
