# Every target sets up what it needs; a second run starts at once.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install -c constraints.txt
ARGS ?=

.PHONY: help venv run test check lint types unit bench sabotage clean

help:
	@echo "make run     start the gateway           make test   everything that must pass"
	@echo "make check   the fast half of make test  make bench  speed and size, as ratios"
	@echo "make sabotage   put known bugs back one by one; each must be caught"

$(VENV)/made:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: install python3.11 and try again." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; '$(PYTHON)' is older. Try: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -m venv $(VENV) || \
	  { echo "Python's venv module is missing; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/run: $(VENV)/made pyproject.toml constraints.txt
	$(PIP) -e .
	@touch $@

$(VENV)/dev: $(VENV)/run
	$(PIP) -e '.[dev]'
	@touch $@

$(VENV)/bench: $(VENV)/dev
	$(PIP) -e '.[dev,bench]'
	@touch $@

# A server that speaks as model providers do. Without Node its tests are left out, and say so.
$(VENV)/node/made: tests/adapters/models/aimock/package.json | $(VENV)/made
	@mkdir -p $(@D) && cp $< $(@D)/
	@npm install --prefix $(@D) --no-package-lock --no-audit --no-fund --silent && touch $@ || \
	  echo "npm could not install $<: the tests against it are left out" >&2

venv: $(VENV)/run

run: $(VENV)/run
	@exec $(BIN)/hermes-actors gateway $(ARGS)

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/flake8-async $$(find hermes_actors adapters supervisors benchmarks -name '*.py')
	@# Doubles in tests are async because a contract says so, not because they wait.
	$(BIN)/flake8-async --disable=ASYNC124,ASYNC9 $$(find tests -name '*.py')

types: $(VENV)/bench
	$(BIN)/mypy

unit: $(VENV)/dev
	$(BIN)/python -m pytest -q -m "not slow" $(ARGS)

check: lint types unit

test: $(VENV)/bench $(VENV)/node/made
	@$(MAKE) --no-print-directory lint types
	$(BIN)/python -m pytest $(ARGS)

bench: $(VENV)/bench
	$(BIN)/python -m benchmarks $(ARGS)

sabotage: $(VENV)/dev
	$(BIN)/python -m tests.sabotage $(ARGS)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
