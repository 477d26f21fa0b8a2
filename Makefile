# Everything runs in .venv, which is built on first use and again whenever pyproject.toml changes.
# Needed beforehand: make and Python 3.11 or newer (another one: make PYTHON=python3.13 test).

PYTHON ?= python3
WORKERS ?= 2
SEEDS ?= 80
MUTANTS ?= 200
AGAINST ?= 384164d
# Those on the path and those of pyenv.
PYTHONS ?= $(foreach minor,11 12 13 14,python3.$(minor) $(lastword $(wildcard $(HOME)/.pyenv/versions/3.$(minor).*/bin/python3)))
# Front-ends that are tested where they can be installed; make EXTRAS= test does without.
EXTRAS ?= storm umb gymnasium dask parquet robot
BIN := .venv/bin
RUNS := .venv/.runs
STAMP := .venv/.installed

# Small matrices gain nothing from threads, and the test workers would fight over the cores.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Tests start many processes; compiling the package anew takes a third of the life of most of them.
export PYTHONDONTWRITEBYTECODE :=
# Pictures are drawn to files, also where there is no screen.
export MPLBACKEND ?= Agg
# Material for MkDocs advertises its successor on every build.
export NO_MKDOCS_2_WARNING ?= 1

.PHONY: help demo quick test lint format types unit examples docs wheel bench regression fuzz mutants clean

help:
	@echo "make demo      plan the evacuation of a burning building, draw it (out/evacuation.png), report it (out/report.html)"
	@echo "make quick     lint, types and the first case of every test that is not slow: while you work, below two minutes"
	@echo "make test      everything below down to wheel"
	@echo "make lint      ruff: rules and format"
	@echo "make types     mypy, strict, on the package"
	@echo "make unit      unit tests and doctests (WORKERS=$(WORKERS) processes)"
	@echo "make examples  run every script of examples/"
	@echo "make docs      build the documentation into site/"
	@echo "make wheel     build wheel and sdist into dist/, install the wheel into an empty environment and plan with it"
	@echo "make format    let ruff fix what it can"
	@echo "make bench     the benchmarks, as ratios; on an idle machine"
	@echo "make regression  time, nodes and memory of 47 problems beside commit AGAINST=$(AGAINST), as ratios"
	@echo "make fuzz      thousands of random problems, judged in exact arithmetic (SEEDS=$(SEEDS) of each family); all random tests"
	@echo "make mutants   plant MUTANTS=$(MUTANTS) mistakes in the code that proofs rest on; do the tests notice?"
	@echo "make clean     remove .venv and everything that was generated"

# What running needs, and nothing of what developing needs besides.
$(RUNS): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hcssp needs Python 3.11 or newer; $(PYTHON) is " + sys.version.split()[0] + ". Try: make PYTHON=/path/to/python3.11")'
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "$(PYTHON) cannot make virtual environments; install its venv module (Debian: apt install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plot]'
	@touch $@

$(STAMP): $(RUNS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@for extra in $(EXTRAS); do \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --editable ".[$$extra]" \
			|| echo "hcssp[$$extra] cannot be installed here; its tests are skipped" >&2; \
	done
	@touch $@

demo: $(RUNS)
	@mkdir -p out
	@$(BIN)/hcssp solve evacuation --bound damage=2 --time-limit 20 --out out/plan.json --plot out/evacuation.png --certificate out/plan.cert
	@$(BIN)/hcssp report evacuation out/plan.json --certificate out/plan.cert --out out/report.html --curve-time-limit 10

test: lint types unit examples docs wheel

quick: lint types
	HCSSP_TESTS=quick $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(STAMP)
	$(BIN)/mypy

# A worker keeps to neighbouring tests, which share what they solve, and helps another when it has none left.
unit: $(STAMP)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

# What the scripts print is for readers; here only a failure matters, and its traceback is on stderr.
examples: $(STAMP)
	@for script in examples/*.py; do \
		[ -e "$$script" ] || continue; \
		echo "$(BIN)/python $$script"; \
		$(BIN)/python -W error "$$script" > /dev/null || exit 1; \
	done

docs: $(STAMP)
	$(BIN)/mkdocs build
	@! grep -rlE '<(script|img)[^>]* src="https?://|rel="stylesheet" href="https?://' site --include=*.html || { echo "these pages load something from a network" >&2; exit 1; }
	@echo "the documentation is in site/index.html"

# With every Python of PYTHONS, each version once. The folder has no source tree, so only the wheel can answer.
wheel: $(STAMP)
	@rm -rf dist build/wheel && mkdir -p build/wheel
	$(BIN)/python -m build --outdir dist . > build/wheel/build.log || { cat build/wheel/build.log; exit 1; }
	$(BIN)/python -m twine check --strict dist/*
	@for python in $(PYTHONS); do \
		version=$$($$python -c 'import ensurepip, sys, venv; print("%d.%d" % sys.version_info[:2])' 2> /dev/null) || continue; \
		[ ! -d build/wheel/$$version ] || continue; \
		echo "Python $$version: install the wheel and plan with it"; \
		$$python -m venv build/wheel/$$version \
			&& build/wheel/$$version/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: dist/*.whl \
			&& (cd build/wheel && $$version/bin/hcssp solve evacuation --bound damage=2 --quiet > $$version.txt && tail -n 1 $$version.txt) \
			|| exit 1; \
	done

bench: $(STAMP)
	@for script in benchmarks/bench_*.py; do \
		[ -e "$$script" ] || { echo "there are no benchmarks yet"; continue; }; \
		$(BIN)/python "$$script" || exit 1; \
	done

regression: $(STAMP)
	$(BIN)/python benchmarks/regression.py --against $(AGAINST)

# What goes wrong is written to out/fuzz, a problem file for each. Then the tests, with all their random cases.
fuzz: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -m referee --count $(SEEDS)
	HCSSP_TESTS=full $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

# In a copy of the tree; what no test notices is told in the end.
mutants: $(STAMP)
	PYTHONPATH=tools $(BIN)/python -m mutants --count $(MUTANTS)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage htmlcov build dist site
	find src tests tools examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2> /dev/null || true
