# Short names for the usual commands; CMake does the work (see CMakePresets.json).
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
# Thread sanitizer sees races only in code compiled with it, which LibTorch is not.
TSAN_MODULES ?= util data envs

# Which groups of files clang-tidy reads: `make lint TIDY_FILES=rl_training_base` leaves out LibTorch's.
TIDY_FILES ?= rl_training

empty :=
space := $(empty) $(empty)
PROGRAM := build/release/rl_training
LINT_DIR := build/lint
SOURCES = $(shell find rl_training cli python tests examples bench fuzz -name '*.h' -o -name '*.cpp')

.DEFAULT_GOAL := build
.PHONY: help dependencies configure build demo results results-online test test-processes test-web python python-test reliability bench bench-data bench-processes bench-export bench-sac sanitize fuzz format lint install clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

dependencies:
	@scripts/install_dependencies.sh

configure: dependencies
	cmake --preset release

build: configure ## build the program build/release/rl_training
	cmake --build --preset release --target rl_training_cli -j $(JOBS)

demo: build ## train, evaluate and predict on a small task
	scripts/demo.sh

results-online: build ## train the online algorithms over 5 seeds; tables and plots
	JOBS=$(JOBS) scripts/online_results.sh

test: configure ## build everything and run the tests
	cmake --build --preset release -j $(JOBS)
	ctest --preset release --output-on-failure -j2

python: ## build the Python package build/python/rl_training
	scripts/install_dependencies.sh python
	cmake --preset release
	cmake --build --preset release --target python -j $(JOBS)

python-test: python ## run the tests of the Python package
	cmake --build --preset release --target rl_training_cli -j $(JOBS)
	ctest --preset release --output-on-failure -R '^python$$'

reliability: configure ## attack the program: kills, signals, full disks, damaged files (1 hour)
	cmake --build --preset release -j $(JOBS) --target rl_training_cli test_crash test_experiment
	RL_TRAINING_KILLS=72 build/release/tests/test_crash --gtest_filter='*Kill*'
	RL_TRAINING_SIGNALS=500 build/release/tests/test_crash --gtest_filter='*Signal*'
	build/release/tests/test_experiment --gtest_filter='*Fault*:*Flipped*:*Truncation*:*Hostile*'
	scripts/reliability.py $(PROGRAM)

test-processes: configure ## one run on 2 and 4 processes and on 2 hosts: bits, kills, a cut link
	cmake --build --preset release -j $(JOBS) --target rl_training_cli test_processes
	RL_TRAINING_PROCESS_TESTS=all build/release/tests/test_processes
	scripts/test_two_hosts.sh $(CURDIR)/$(PROGRAM)

bench-processes: build ## rows a second of two processes beside one, and what both learn
	bench/processes.sh $(PROGRAM)

test-web: build ## open reports in chromium (installs it and playwright-core)
	scripts/install_dependencies.sh web
	mkdir -p build/web
	test -d build/web/node_modules/playwright-core || \
	  npm install --prefix build/web --no-fund --no-audit playwright-core
	WEB_TEST_TIMES=1 tests/web/run.sh $(CURDIR)/$(PROGRAM) $(CURDIR)/build/web

bench: build ## measure updates per second beside eager PyTorch
	scripts/install_dependencies.sh bench
	$(PROGRAM) bench --peer bench/eager.py

bench-sac: build ## time a whole small online run on one core
	bench/sac_run.sh $(PROGRAM)

bench-export: build ## time one action of an exported policy beside LibTorch and ONNX Runtime
	cmake --build --preset release --target libtorch_forward -j $(JOBS)
	bench/export/run.sh $(PROGRAM) build/release/libtorch_forward build/export

bench-data: configure ## measure opening a dataset of a million rows beside h5py
	scripts/install_dependencies.sh bench
	cmake --build --preset release --target data_bench -j $(JOBS)
	/usr/bin/python3 bench/data/compare.py build/release/data_bench

results: build ## train all algorithms, several seeds each, and write docs/results.md (hours)
	JOBS=$(JOBS) scripts/results.sh

sanitize: dependencies ## run the tests under address, undefined-behaviour and thread sanitizers
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	ctest --preset asan --output-on-failure
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS) --target $(addprefix test_,$(TSAN_MODULES))
	ctest --preset tsan --output-on-failure -R '^($(subst $(space),|,$(TSAN_MODULES)))$$'

fuzz: ## run each fuzz target for FUZZ_SECONDS
	scripts/install_dependencies.sh dev
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	@set -e; for program in $$(find build/fuzz -type f -executable -name 'fuzz_*'); do \
	  name=$$(basename $$program); \
	  mkdir -p build/fuzz/corpus/$$name fuzz/corpus/$$name; \
	  $$program -max_total_time=$(FUZZ_SECONDS) build/fuzz/corpus/$$name fuzz/corpus/$$name; \
	done

format: ## format all sources in place
	scripts/install_dependencies.sh dev
	clang-format -i $(SOURCES)

lint: ## check formatting and run clang-tidy (20 minutes)
	scripts/install_dependencies.sh dev
	clang-format --dry-run -Werror $(SOURCES)
	cmake --preset dev -B $(LINT_DIR) -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DCMAKE_UNITY_BUILD=ON \
	  -DCMAKE_UNITY_BUILD_BATCH_SIZE=8
	cmake --build $(LINT_DIR) --target tensorboard_event.pb.h
	run-clang-tidy -p $(LINT_DIR) -j $(JOBS) -quiet -extra-arg=-Wno-unknown-warning-option \
	  -extra-arg=-include$(CURDIR)/cmake/clang_tidy.h '$(TIDY_FILES).*\.dir/Unity/'

install: build ## install program, library and headers under PREFIX
	cmake --install build/release --prefix $(PREFIX)

clean: ## remove everything that was built
	rm -rf build
