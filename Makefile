## make play        set up what is missing, then play T-Rex with the embedded model (ARGS="..." passes options on)
## make test        set up what is missing, then check formatting and types and run every test
## make bench       measure every promise of bench/promises.toml
## make bench-gate  the same, and fail below the gates
## make lint        formatting and types alone
## make format      rewrite the sources in the house format
## make dist        wheel and sdist in dist/
## make clean       remove the build and the environment
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP    := $(BIN)/python -m pip

# The rebuild on import calls plain `cmake`, which is the environment's where the system has none.
export PATH := $(abspath $(BIN)):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help play test bench bench-gate lint format dist clean

help:
	@sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST))

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)

# What builds and runs the package: again only when these two files change.
$(STAMPS)/build: pyproject.toml constraints.txt | $(BIN)/python
	@mkdir -p $(@D)
	$(PIP) install -q --upgrade "pip>=25.1"
	$(PIP) install -q -c constraints.txt --group build
	@touch $@

# What tests and checks it.
$(STAMPS)/test: pyproject.toml constraints.txt $(STAMPS)/build
	$(PIP) install -q -c constraints.txt --group test --group lint
	@touch $@

# The editable install. C++ and Cython sources need no rule here: CMake rebuilds them on import.
$(STAMPS)/install: pyproject.toml constraints.txt CMakeLists.txt $(STAMPS)/build
	$(PIP) install -q -c constraints.txt --no-build-isolation -C editable.rebuild=true -C build-dir=build/dev -e .
	@touch $@

play: $(STAMPS)/install
	@$(BIN)/python -m sysone.trex $(ARGS)

test: $(STAMPS)/install lint
	$(BIN)/python -m pytest -q -n auto $(ARGS)

bench: $(STAMPS)/install $(STAMPS)/test
	$(BIN)/python -m bench

bench-gate: $(STAMPS)/install $(STAMPS)/test
	$(BIN)/python -m bench --gate

CPP_FILES = $(shell git ls-files 'csrc/*.cpp' 'csrc/*.h')

lint: $(STAMPS)/test
	$(BIN)/ruff check -q
	$(BIN)/ruff format -q --check
	$(BIN)/clang-format --dry-run -Werror $(CPP_FILES)
	$(BIN)/mypy --no-error-summary

format: $(STAMPS)/test
	$(BIN)/ruff check -q --fix
	$(BIN)/ruff format -q
	$(BIN)/clang-format -i $(CPP_FILES)

dist: $(STAMPS)/build
	$(PIP) install -q -c constraints.txt "build>=1.2"
	$(BIN)/python -m build --outdir dist .

clean:
	rm -rf build dist $(VENV)
