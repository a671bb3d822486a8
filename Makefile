# All commands of this project. Bare `make` lists them.

.DEFAULT_GOAL := help
PYTHON ?= python3
PORT ?= 8080
MINUTES ?= 60
VENV ?= .venv
KIT := pytest-uat-sandbox
BIN := $(VENV)/bin

# Keep the assertions that pytest has rewritten: without them a worker takes four seconds longer.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help setup run test whole slow elsewhere properties soak fast check fix bench golden ledger vendor console dist lock clean

help: ## List all commands
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 18

setup: $(VENV)/.developed ## Prepare .venv with everything, development tools included

# The stamps are touched last, so that an interrupted installation starts again.
$(VENV)/.installed: pyproject.toml requirements/run.lock
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed; this is " + sys.version.split()[0] + "; name another with make PYTHON=...") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV)"
	@$(PIP) install --require-hashes --requirement requirements/run.lock
	@$(PIP) install --no-deps --editable .
	@# pip compiles what it installs, but not a checkout: without this, the first starts are slow.
	@$(BIN)/python -m compileall -q sandbox
	@touch $@

$(VENV)/.developed: $(VENV)/.installed requirements/dev.lock $(KIT)/pyproject.toml
	@$(PIP) install --require-hashes --requirement requirements/dev.lock
	@$(PIP) install --no-deps --editable $(KIT)
	@touch $@

run: $(VENV)/.installed ## Serve the demo world on localhost (PORT=8080)
	@SANDBOX_PORT_HINT='make run PORT=9000' $(BIN)/python -m sandbox serve --port $(PORT)

test: $(VENV)/.developed ## Run all tests but those of `make whole`
	@$(BIN)/python -m pytest --numprocesses 4 --dist worksteal

whole: slow elsewhere properties ## Test the whole product, in minutes: kills and restarts, package, documentation, other languages

slow: $(VENV)/.developed ## The part of `make whole` that starts servers, browsers and other languages
	@$(BIN)/python -m pytest tests/whole --numprocesses 3 --dist worksteal

elsewhere: $(VENV)/.developed ## Run all tests of a sandbox through a server that owns no world; `make slow` runs some
	@TESTED_SUITES=all $(BIN)/python -m pytest tests/whole/test_elsewhere.py -k 'not uvicorn and not hypercorn'

properties: $(VENV)/.developed ## Test properties with many more examples than `make test` does
	@TESTED_THOROUGHLY=yes $(BIN)/python -m pytest -m "hypothesis or thorough" --numprocesses 2 --dist worksteal

soak: $(VENV)/.developed ## Try properties with new random numbers until one fails (MINUTES=60, SEED=a new one)
	@seed=$(or $(SEED),$$(($$(od -An -N4 -tu4 /dev/urandom)))); end=$$(($$(date +%s) + $(MINUTES) * 60)); \
	while echo "seed $$seed" && SANDBOX_SEED=$$seed $(BIN)/python -m pytest tests tests/whole/test_schemathesis.py -m hypothesis \
		--hypothesis-seed $$seed --maxfail 1 --numprocesses 2 --dist worksteal; do \
		[ $$(date +%s) -lt $$end ] || { echo nothing found; exit 0; }; seed=$$((seed + 1)); \
	done; echo "found; again: make soak MINUTES=0 SEED=$$seed"; exit 1

fast: $(VENV)/.developed ## Run the tests of the pure core
	@$(BIN)/python -m pytest tests/domain

check: $(VENV)/.developed ## Lint, formatting, types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

fix: $(VENV)/.developed ## Fix lint and formatting where that is possible
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.developed ## Measure speed against a bare application, and name what has moved since the baseline
	@$(BIN)/python -m benchmarks

golden: $(VENV)/.developed ## Generate docs/reference, fixtures/events and fixtures/busy.json from the code
	@$(BIN)/python -m tools.generate

ledger: $(VENV)/.developed ## Write the ledger of clauses, with the name of every test, into build/
	@$(BIN)/python -m tools.pages.ledger

vendor: $(VENV)/.developed ## Copy the console's modules again from npm, at the versions of tools/console (needs npm)
	@$(BIN)/python -m tools.vendor

console: ## Check the types and the style of the console's scripts (needs npm)
	@npm --prefix tools/console ci --ignore-scripts --silent
	@npm --prefix tools/console run --silent types
	@npm --prefix tools/console run --silent lint

dist: $(VENV)/.developed ## Build the wheels and source distributions, of the server and the test kit, into dist/
	@$(BIN)/uv build --quiet --out-dir dist
	@$(BIN)/uv build --quiet --out-dir dist $(KIT)
	@ls dist/*

lock: $(VENV)/.developed ## Resolve the dependencies again into requirements/
	@$(BIN)/uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --custom-compile-command 'make lock' pyproject.toml --extra postgres --output-file requirements/run.lock
	@$(BIN)/uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --custom-compile-command 'make lock' pyproject.toml --group dev --output-file requirements/dev.lock

clean: ## Remove what these commands created
	rm -rf .venv* dist build $(KIT)/dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
