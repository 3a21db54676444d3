# workbench: `make demo` and `make test` do everything, from a fresh clone on.
# Another Python:  make setup PYTHON=python3.12

VENV := .venv/bin
SETUP = $(or $(PYTHON),python3) scripts/set_up.py $(if $(PYTHON),--switch)
# One more than two cores: tests often wait, for limits, for what ends by itself, and for other programs.
JOBS ?= 3
PYTEST = $(VENV)/python -m pytest -q -n $(JOBS)
MINUTES ?= 10
MAKEFLAGS += --jobs=3
# Hundreds of short processes run: compiling all modules in each of them takes longer than the tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-all lint ruff types tests tests-all docs fuzz bench clean distclean

help:
	@echo 'make demo       show what workbench does (sets everything up first)'
	@echo 'make test       lint, types, and the tests that are not slow'
	@echo 'make test-all   lint, types, and every test'
	@echo 'make docs       the site of the documentation, in build/docs'
	@echo 'make fuzz       look for new random cases for MINUTES=10'
	@echo 'make setup      only the set-up: Debian packages, .venv, pynusmv and NuSMV'
	@echo 'make lint       lint and types'
	@echo 'make bench      measure start-up, the model checking, the explicit engine and compiled runs (the lab resumes)'
	@echo 'make clean      remove what tests and tools leave; distclean: .venv too'

setup:
	@$(SETUP)

demo: setup
	@$(VENV)/python -m workbench.cli.main demo

# Targets beside each other: what ruff and mypy find is shown at once, and pytest's summary is the last line.
lint: ruff types
test: ruff types tests
test-all: ruff types tests-all

ruff: setup
	@$(VENV)/ruff check --quiet .
	@$(VENV)/ruff format --quiet --diff .

types: setup
	@$(VENV)/mypy --no-error-summary

tests: setup
	@$(PYTEST) -m "not slow"

tests-all: setup
	@$(PYTEST) --hypothesis-profile=thorough --timeout=1800

# Every warning is an error, and so is a reference that leads nowhere.
docs: setup
	@$(VENV)/python -c 'import sphinx' 2>/dev/null || $(VENV)/python -m pip install --quiet --editable '.[docs]'
	@$(VENV)/python -m sphinx --quiet --nitpicky --fail-on-warning --keep-going docs build/docs
	@echo 'the site is build/docs/index.html'

fuzz: setup
	@$(VENV)/python scripts/fuzz.py --minutes $(MINUTES) --jobs $(JOBS)

bench: setup
	$(VENV)/python experiments/monitors.py
	$(VENV)/python experiments/bench_startup.py
	$(VENV)/python experiments/bench_explicit.py
	$(VENV)/python experiments/bench_run.py
	$(VENV)/python experiments/bench_logs.py
	$(VENV)/python experiments/bench_spark.py
	$(VENV)/python experiments/bench_lab.py
	$(VENV)/python experiments/auction.py
	for suite in time2021 scaling threads2017; do \
		$(VENV)/workbench lab run $$suite; $(VENV)/workbench lab report $$suite --brief || test $$? -eq 1; \
	done

clean:
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean
	rm -rf .venv .setup
