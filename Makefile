## make play        set up what is missing, then play T-Rex with the embedded model (ARGS="..." passes options on)
## make test        set up what is missing, then check formatting and types and run every test
## make bench       measure every promise of bench/promises.toml
## make bench-gate  the same, and fail below the gates
## make instructions  callgrind counts of the core's hottest functions, compared with the stored ones
## make prove-gates  a slower search, a wrong penalty and a leaked descriptor, each put into a copy and refused by its gate
## make lint        formatting and types alone
## make format      rewrite the sources in the house format
## make dist        wheel and sdist in dist/
## make wheels      the sdist and a wheel of it for each Python here, each tried in an empty environment
## make extras      that what the extras bring goes together, for each Python
## make learn-check  tests of what trains models or runs large ones, with PyTorch and transformers
## make cluster-check  tests of --engine ray, on two Ray nodes of this machine
## make view-check  the viewer in a real Chromium, which is installed where it may be
## make docs        the documentation's site in build/site; every link and anchor is checked
## make docs-commands  every command that README and docs print, run as it stands (minutes)
## make screenshots  the pictures of the viewer's page, played and photographed anew
## make drive-proof  fifty kill -9, two million mutated lines, and the drive tests with and without carla
## make drive-carla  map queries, GPS, criteria and the CARLA backend with each of three real clients
## make drive-faults  a hundred faults in random order over a run of twenty routes
## make drive-kit  the agent kit on Python 3.10, where this machine has one
## make asan        tests of all C++ (T-Rex, arena, drive) under AddressSanitizer and UBSan
## make tsan        everything that runs on threads under ThreadSanitizer, and a race that it must find
## make nightly     asan, tsan, fuzz (FUZZ_SECONDS a target), chaos and the long proofs, and a table of them
## make fuzz        every fuzz target for FUZZ_SECONDS=10 each, the C++ ones under AddressSanitizer and UBSan
## make smoke-arc  ARC's small model from nothing on a CPU: games, traces, rows, training, evaluation; goes on where it stopped
## make arc-soak    a million random actions over every practice game
## make arena-proof  the arena's digests by every compiler and level, its fuzz under sanitizers, its strategies over 64 seeds, a hundred kills of runs
## make chaos       every long-running command under kills, full, slow and read-only disks, jumping clocks, few descriptors
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
.PHONY: help play test bench bench-gate lint format dist asan smoke-arc arc-soak learn-check cluster-check view-check docs docs-commands screenshots arena-proof drive-carla drive-kit drive-proof clean

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
# The ARC toolkit runs on 3.11 unchanged, which its metadata does not say; what it needs is in the
# group above.
	$(PIP) install -q -c constraints.txt --ignore-requires-python --no-deps arc-agi arcengine
	@touch $@

# The editable install. C++ and Cython sources need no rule here: CMake rebuilds them on import.
$(STAMPS)/install: pyproject.toml constraints.txt CMakeLists.txt $(STAMPS)/build
	$(PIP) install -q -c constraints.txt --no-build-isolation -C editable.rebuild=true -C build-dir=build/dev \
	  -C cmake.define.SYSONE_WERROR=ON -e .
# The grid kernels are compiled now and kept, so that no first step waits for it.
	$(BIN)/python -c "from sysone_core.grids import warm; warm()"
	@touch $@

play: $(STAMPS)/install
	@$(BIN)/python -m sysone.trex $(ARGS)

# A second compiler for the arena's digests, and its sandbox; where they may not be installed,
# their tests are skipped.
$(STAMPS)/tools: $(STAMPS)/build
	@{ command -v clang++ && command -v bwrap; } >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -q && DEBIAN_FRONTEND=noninteractive \
	  apt-get install -qy --no-install-recommends clang bubblewrap >/dev/null; } || true
	@touch $@

test: $(STAMPS)/install $(STAMPS)/tools lint
	$(BIN)/python -m pytest -q -n auto $(ARGS)

$(STAMPS)/learn: $(STAMPS)/test
	$(PIP) install -q -c constraints.txt --group learn
	@touch $@

learn-check: $(STAMPS)/install $(STAMPS)/learn
	$(BIN)/python -m pytest -q -n auto -m learn $(ARGS)

$(STAMPS)/cluster: $(STAMPS)/test
	$(PIP) install -q -c constraints.txt --group cluster
	@touch $@

# One after the other: each test's nodes take this machine's processors for their own.
cluster-check: $(STAMPS)/install $(STAMPS)/cluster
	$(BIN)/python -m pytest -q -m cluster $(ARGS)

# A harness to compare with, in an environment of its own: it asks for much that the compared game
# does not need.
build/kaggle: $(STAMPS)/build
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install -q --no-deps "kaggle-environments==1.33.2" 2>/dev/null \
	  && $@/bin/python -m pip install -q numpy jsonschema requests flask click pyyaml pydantic 2>/dev/null \
	  || { echo "kaggle-environments is not to be had: its comparison is left out"; rm -rf $@/bin; }

# Without a browser the tests are skipped.
$(STAMPS)/view: $(STAMPS)/test
	$(PIP) install -q -c constraints.txt --group view
	@command -v chromium >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -q && DEBIAN_FRONTEND=noninteractive \
	  apt-get install -qy --no-install-recommends chromium >/dev/null; } || true
	@touch $@

view-check: $(STAMPS)/install $(STAMPS)/view
	$(BIN)/python -m pytest -q tests/viewer/test_browser.py $(ARGS)

$(STAMPS)/docs: $(STAMPS)/test
	$(PIP) install -q -c constraints.txt --group docs
	@touch $@

# Sources are read, not imported: nothing has to be built.
docs: $(STAMPS)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build -q --strict -d build/site
	$(BIN)/python tools/docs/check_site.py build/site

# What a machine lacks is left out: SYSONE_DOCS_NEEDS=time,torch takes in what needs that.
docs-commands: $(STAMPS)/install $(STAMPS)/tools $(STAMPS)/test
	SYSONE_DOCS_COMMANDS=1 $(BIN)/python -m pytest -q tests/docs/test_pages_run.py $(ARGS)

screenshots: $(STAMPS)/install $(STAMPS)/view
	$(BIN)/python tools/viewer/screenshots.py

# A gigabyte of games for one of them, so that the gates do without it.
build/envpool: $(STAMPS)/build
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install -q "envpool==1.2.5" gymnasium numpy 2>/dev/null \
	  || { echo "EnvPool is not to be had: its comparison is left out"; rm -rf $@/bin; }

bench: $(STAMPS)/install $(STAMPS)/test build/kaggle build/envpool
	$(BIN)/python -m bench

bench-gate: $(STAMPS)/install $(STAMPS)/test build/kaggle
	$(BIN)/python -m bench --gate

# Counts of instructions, which a busy machine does not change. Without valgrind they are left out.
build/instructions/hot_paths: $(STAMPS)/install
	@command -v valgrind >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -q && DEBIAN_FRONTEND=noninteractive \
	  apt-get install -qy --no-install-recommends valgrind >/dev/null; } || true
	if command -v valgrind >/dev/null; then \
	  cmake -S . -B $(@D) -G Ninja -DCMAKE_BUILD_TYPE=Release -DSYSONE_PYTHON=OFF -DSYSONE_INSTRUCTIONS=ON >/dev/null \
	  && cmake --build $(@D) --target hot_paths >/dev/null; fi

.PHONY: instructions build/instructions/hot_paths
instructions: build/instructions/hot_paths
	$(BIN)/python -m bench.instructions $(ARGS)

# What make wheels installed is what the faults are put into.
.PHONY: prove-gates
prove-gates: $(STAMPS)/install build/instructions/hot_paths
	[ -d build/wheels ] || $(MAKE) wheels
	$(BIN)/python -m tools.gates.prove

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
	rm -rf dist
	$(BIN)/python -m build -q --outdir dist .

# Wheels of the sdist, each tried in an empty environment; Pythons that are not here are left out.
WHEEL_PYTHONS ?= 3.11 3.12 3.13

.PHONY: wheels extras
wheels: $(STAMPS)/build
	$(PIP) install -q -c constraints.txt --group dist
	$(BIN)/python tools/packaging/wheels.py $(WHEEL_PYTHONS) $(ARGS)

# That the extras go together, for each Python: resolved, not installed.
extras: $(STAMPS)/build
	$(PIP) install -q -c constraints.txt --group dist
	$(BIN)/python tools/packaging/extras.py $(WHEEL_PYTHONS)

# An instrumented copy of the package in an environment of its own. It sees the packages of $(VENV)
# through one .pth line, and not the editable install, whose import hook would win.
PURELIB := 'import sysconfig; print(sysconfig.get_path("purelib"))'

build/asan/venv: $(STAMPS)/install $(STAMPS)/test
	$(BIN)/python -m venv --without-pip $@
	echo "$$($(BIN)/python -c $(PURELIB))" > "$$($@/bin/python -c $(PURELIB))/parent.pth"

# libstdc++ is preloaded too: without it the first C++ exception aborts. CPython itself leaks by
# LeakSanitizer's measure, and its own allocator would hide overruns.
ASAN_TESTS = tests/trex tests/arena tests/drive \
  -k "(core or scenarios or golden_drive or map_shapes or score) and not (stub or compiler or sanitizers)"

asan: build/asan/venv
	$(PIP) --python $</bin/python install -q --no-deps --no-build-isolation --force-reinstall \
	  -C build-dir=build/asan/cmake -C cmake.build-type=RelWithDebInfo \
	  -C cmake.define.CMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -C install.strip=false \
	  -C cmake.define.SYSONE_SANITIZE=address,undefined .
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so) $$(gcc -print-file-name=libstdc++.so.6)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc NUMBA_DISABLE_JIT=1 \
	  $</bin/python -m pytest -q $(or $(ARGS),$(ASAN_TESTS))

# A race that is not reported would mean that silence about the rest says nothing.
.PHONY: tsan
tsan: $(STAMPS)/install
	cmake -S . -B build/tsan -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -DSYSONE_PYTHON=OFF -DSYSONE_CHECKS=ON \
	  -DSYSONE_SANITIZE=thread >/dev/null
	cmake --build build/tsan --target check_threads check_race
	$(BIN)/python -c "from tools.fuzz.catalogue import write_rules; write_rules()"
	TSAN_OPTIONS=halt_on_error=1 build/tsan/check_threads build/fuzz/rules/2027.json
	@! TSAN_OPTIONS=exitcode=66 build/tsan/check_race >build/tsan/race.log 2>&1
	@grep -q "ThreadSanitizer: data race" build/tsan/race.log \
	  || { echo "ThreadSanitizer does not see the race of csrc/check/race_main.cpp"; exit 1; }
	@echo "no race in the threaded parts; the race on purpose is found"

.PHONY: nightly
nightly: $(STAMPS)/install $(STAMPS)/fuzz
	$(BIN)/python -m tools.nightly $(ARGS)

$(STAMPS)/fuzz: $(STAMPS)/test
	$(PIP) install -q -c constraints.txt --group fuzz
	@{ command -v clang++ && test -n "$$(find $$(clang++ -print-resource-dir) -name 'libclang_rt.fuzzer*')"; } >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -q && DEBIAN_FRONTEND=noninteractive \
	  apt-get install -qy --no-install-recommends clang libclang-rt-14-dev >/dev/null; }
	@touch $@

# Longer, or some targets alone: make fuzz FUZZ_SECONDS=600 ARGS="base64 drive_wire"
FUZZ_SECONDS ?= 10
.PHONY: fuzz
fuzz: $(STAMPS)/install $(STAMPS)/fuzz
	$(BIN)/python -m tools.fuzz --seconds $(FUZZ_SECONDS) $(ARGS)

# One thread where something else runs too: OMP_NUM_THREADS=1 make smoke-arc. Again, it goes on.
SMOKE ?= build/smoke-arc
ARC := $(BIN)/python -m sysone.arc
TINY := --config python/sysone/arc/configs/tiny.yaml

smoke-arc: $(STAMPS)/install $(STAMPS)/learn
	$(ARC) games make --out $(SMOKE)/games --count 16 --seed 7 >/dev/null
	$(ARC) collect --games "$$(ls $(SMOKE)/games | tr '\n' ' ')" --environments-dir $(SMOKE)/games \
	  --policy solver --episodes 3 --max-actions 100 --out $(SMOKE)/traces $(TINY) >/dev/null
	$(ARC) build-data --traces $(SMOKE)/traces --out $(SMOKE)/data $(TINY) >/dev/null
	$(ARC) train --data $(SMOKE)/data --work $(SMOKE)/training --max-steps 150 $(TINY) >$(SMOKE)/train.json
	$(ARC) eval --games held-out --max-actions 60 --policy system1 --resume \
	  --checkpoint $(SMOKE)/training/checkpoint --out $(SMOKE)/eval.json
	$(BIN)/python -m sysone.arc.learn.card $(SMOKE)/training/calibration.json $(SMOKE)/eval.json

arc-soak: $(STAMPS)/install $(STAMPS)/test
	ARC_SOAK_ACTIONS=1000000 $(BIN)/python -m pytest -q -n auto tests/arc/test_soak.py

arena-proof: $(STAMPS)/install $(STAMPS)/test
	ARENA_PROOF=full $(BIN)/python -m pytest -q -n auto --timeout 3600 \
	  tests/arena/test_core_golden.py tests/arena/test_strength.py
	SYSONE_ARENA_KILLS=100 $(BIN)/python -m pytest -q --timeout 7200 tests/arena/test_run.py

.PHONY: chaos
chaos: $(STAMPS)/install $(STAMPS)/test
	SYSONE_CHAOS=full $(BIN)/python -m pytest -q tests/chaos --timeout 7200 $(ARGS)

# An environment beside ours for each carla client: they share the module's name.
CARLA_CLIENTS = carla==0.9.16 carla-0-9-15==0.0.1 carla-ue5-api==0.10.0
CARLA_VENVS = $(foreach client,$(CARLA_CLIENTS),build/drive/$(subst ==,_,$(client)))
CARLA_TESTS = $(addprefix tests/drive/test_,carla_client.py map_shapes.py backends.py \
  carla_backend.py golden_drive_map_queries.py golden_drive_criteria.py golden_drive_gps.py)

$(CARLA_VENVS): $(STAMPS)/install $(STAMPS)/test
	$(BIN)/python -m venv --without-pip $@
	echo "import site; site.addsitedir('$$($(BIN)/python -c $(PURELIB))')" > "$$($@/bin/python -c $(PURELIB))/parent.pth"
	$(PIP) --python $@ install -q --no-deps "$(subst _,==,$(notdir $@))" \
	  || echo "there is no $(notdir $@) for this Python: its tests are left out"

drive-carla: $(CARLA_VENVS)
	for venv in $^; do echo "== $$venv"; $$venv/bin/python -m pytest -q $(CARLA_TESTS) || exit 1; done

.PHONY: drive-faults
drive-faults: $(STAMPS)/install $(STAMPS)/test
	SYSONE_DRIVE_FAULTS=130 $(BIN)/python -m pytest -q -s tests/drive/test_faults.py --timeout 3000

# A Python 3.10 with NumPy, as models' environments are.
PYTHON310 ?= $(shell for p in "$$HOME"/.pyenv/versions/3.10.*/bin/python3.10 python3.10; do \
  "$$p" -c "" 2>/dev/null && echo "$$p" && break; done)

build/drive/python310: $(STAMPS)/install $(STAMPS)/test
	@mkdir -p $(@D)
	if [ -n "$(PYTHON310)" ]; then $(PYTHON310) -m venv $@ && $@/bin/python -m pip install -q "numpy>=1.24"; \
	else echo "there is no Python 3.10 here: its test is left out"; fi

drive-kit: build/drive/python310
	SYSONE_PYTHON310=$(abspath $</bin/python) $(BIN)/python -m pytest -q tests/drive/test_service.py -k kit

drive-proof: build/drive/carla_0.9.16 build/drive/python310
	$</bin/python -c "import carla"
	SYSONE_PYTHON310=$(abspath build/drive/python310/bin/python) \
	  SYSONE_DRIVE_KILLS=50 SYSONE_DRIVE_FUZZ=2000000 $(BIN)/python -m pytest -q tests/drive --timeout 1800
	$</bin/python -m pytest -q tests/drive

clean:
	rm -rf build dist $(VENV)
