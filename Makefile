# Short names for common commands. CMake does the work (see CMakePresets.json).
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
FUZZ_RUNS ?= -1
FUZZ_TARGETS ?= checkpoint config csv hdf5 json npz safetensors
# The thread sanitizer finds races only in code that is compiled with it, which excludes LibTorch.
TSAN_MODULES ?= util data envs signals

# clang-tidy checks the sources of the CMake targets whose names contain this text. For example,
# `make lint TIDY_FILES=rl_training_base` excludes sources that use LibTorch.
TIDY_FILES ?= rl_training

empty :=
space := $(empty) $(empty)
PROGRAM := build/release/rl_training
LINT_DIR := build/lint
SOURCES = $(shell find rl_training cli python tests examples bench fuzz -name '*.h' -o -name '*.cpp')

.DEFAULT_GOAL := build
.PHONY: help dependencies configure build demo results results-online test test-docs test-web python python-test test-ecosystem test-torch2 bench-python reliability bench bench-data bench-export bench-sac bench-check bench-peers sanitize fuzz format lint install uninstall reference package tarball test-package results-next results-full fuzz-coverage test-slurm test-processes bench-processes clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

dependencies:
	@scripts/install_dependencies.sh

configure: dependencies
	cmake --preset release

build: configure ## build the program build/release/rl_training
	cmake --build --preset release --target rl_training_cli -j $(JOBS)

demo: build ## train, evaluate and predict on a small task
	PROGRAM=$(PROGRAM) scripts/demo.sh

# RESULTS_ARGS="--seeds 0,1 --only iql" trains fewer runs. Finished runs are not repeated;
# unfinished runs are resumed.
results: build ## train the offline algorithms on Pendulum, several seeds each; tables in docs/results.md (hours)
	scripts/results.py pendulum replay --jobs $(JOBS) $(RESULTS_ARGS)

results-online: build ## train the online and fine-tuned algorithms; tables in docs/results.md
	scripts/results.py online goals mazes fine-tuning --jobs $(JOBS) $(RESULTS_ARGS)

results-next: build ## train discrete, locomotion, pixel and further offline runs; tables in docs/results.md (hours)
	scripts/make_medium_sets.sh
	scripts/results.py pendulum discrete online locomotion pixels hopper medium-short --jobs $(JOBS) $(RESULTS_ARGS)

results-full: build ## train with the published settings and lengths on full medium sets (days)
	scripts/make_medium_sets.sh
	scripts/results.py full --jobs $(JOBS) $(RESULTS_ARGS)

test: configure ## build everything and run the tests
	cmake --build --preset release -j $(JOBS)
	ctest --preset release --output-on-failure -j2

# Training commands are shortened to DOCS_STEPS updates or environment steps. Python blocks run only
# if `make python` has built the package.
test-docs: build ## run the commands of README.md and docs/
	tests/docs/test_docs.py $(PROGRAM)

python: ## build the Python package build/python/rl_training
	scripts/install_dependencies.sh python
	cmake --preset release
	cmake --build --preset release --target python -j $(JOBS)

python-test: python ## run the tests of the Python package
	cmake --build --preset release --target rl_training_cli -j $(JOBS)
	ctest --preset release --output-on-failure -R '^python$$'

test-ecosystem: python ## test together with Gymnasium, Minari, TensorBoard, ONNX Runtime, Optuna and PyTorch 2 from PyPI
	cmake --build --preset release --target rl_training_cli -j $(JOBS)
	tests/ecosystem/run.sh $(CURDIR)/build/python $(CURDIR)/$(PROGRAM) $(CURDIR)/build/ecosystem

# TORCH_VERSION=2.6.0 tests that version instead of the newest.
test-torch2: ## build against LibTorch 2 from PyPI in build/torch2 and run the tests with it
	scripts/install_dependencies.sh python
	tests/torch2/run.sh $(CURDIR)/build/torch2 || test $$? = 77

bench-python: python ## measure the speed of learn, of the program and of a step in a Python environment
	cmake --build --preset release --target rl_training_cli -j $(JOBS)
	PYTHONPATH=build/python /usr/bin/python3 bench/python/learn_speed.py $(PROGRAM)
	PYTHONPATH=build/python /usr/bin/python3 bench/python/step_cost.py

reliability: configure ## attack the program: kills, signals, full disks, damaged files (2 hours)
	cmake --build --preset release -j $(JOBS) --target rl_training_cli test_crash test_experiment test_api test_processes
	RL_TRAINING_KILLS=72 build/release/tests/test_crash --gtest_filter='*Kill*'
	RL_TRAINING_SIGNALS=504 build/release/tests/test_crash --gtest_filter='*Signal*'
	RL_TRAINING_PROCESS_TESTS=all build/release/tests/test_processes --gtest_filter='*Kill*'
	build/release/tests/test_experiment --gtest_filter='*Fault*:*Flipped*:*Truncation*:*Hostile*'
	build/release/tests/test_api --gtest_filter='Leaks.*'
	scripts/failing_calls.py $(PROGRAM)
	scripts/reliability.py $(PROGRAM)

test-slurm: build ## test a sweep on a private Slurm: kills, pre-emption, equal bits
	scripts/install_dependencies.sh slurm || true
	tests/slurm/test_slurm.py $(PROGRAM) || test $$? = 77
test-processes: configure ## test one run on 2 and 4 processes and on 2 hosts: equal bits, kills, a broken link
	cmake --build --preset release -j $(JOBS) --target rl_training_cli test_processes
	RL_TRAINING_PROCESS_TESTS=all build/release/tests/test_processes
	scripts/test_two_hosts.sh $(CURDIR)/$(PROGRAM)
	scripts/test_launchers.sh $(PROGRAM)

bench-processes: build ## compare rows per second and results of one and two processes
	bench/processes.sh $(PROGRAM)

test-web: build ## open reports in chromium (installs it and playwright-core)
	scripts/install_dependencies.sh web
	mkdir -p build/web
	test -d build/web/node_modules/playwright-core || \
	  npm install --prefix build/web --no-fund --no-audit playwright-core
	WEB_TEST_TIMES=1 tests/web/run.sh $(CURDIR)/$(PROGRAM) $(CURDIR)/build/web

bench: build ## measure updates per second, compared with eager PyTorch
	scripts/install_dependencies.sh bench
	$(PROGRAM) bench --peer bench/eager.py

# PEERS_ARGS=--quick makes short measurements to check that everything runs. PEERS_ARGS=--fresh also
# repeats measurements that already exist for the current commit.
bench-peers: build ## compare the speed with JAX, PyTorch 2, SBX and d3rlpy from PyPI; tables in docs/performance.md
	scripts/install_dependencies.sh bench peers
	bench/peers/run.py $(PROGRAM) build/peers --page docs/performance.md $(PEERS_ARGS)

bench-check: configure ## count instructions of updates (valgrind), compare with bench/counts/expected.json; ACCEPT=1 rewrites that file
	scripts/install_dependencies.sh valgrind
	cmake --build --preset release --target update_counts -j $(JOBS)
	bench/counts/check.py build/release/libexec/update_counts bench/counts/expected.json $(if $(ACCEPT),--accept)

bench-sac: build ## measure the time of a whole small online run on one core
	bench/sac_run.sh $(PROGRAM)

bench-export: build ## measure the time of one action of an exported policy, compared with LibTorch and ONNX Runtime
	cmake --build --preset release --target libtorch_forward -j $(JOBS)
	bench/export/run.sh $(PROGRAM) build/release/libtorch_forward build/export

bench-data: configure ## measure opening a dataset of a million rows, compared with h5py
	scripts/install_dependencies.sh bench
	cmake --build --preset release --target data_bench -j $(JOBS)
	/usr/bin/python3 bench/data/compare.py build/release/data_bench

sanitize: dependencies ## run the tests under address, undefined-behaviour and thread sanitizers
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	ctest --preset asan --output-on-failure -j2
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS) --target $(addprefix test_,$(TSAN_MODULES))
	ctest --preset tsan --output-on-failure -j2 -R '^($(subst $(space),|,$(TSAN_MODULES)))$$'

# Each target runs until FUZZ_SECONDS have passed or FUZZ_RUNS inputs have been tried. FUZZ_TARGETS
# selects the targets.
fuzz: ## run each fuzz target for FUZZ_SECONDS
	scripts/install_dependencies.sh dev
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	@set -e; for name in $(FUZZ_TARGETS); do \
	  mkdir -p build/fuzz/corpus/fuzz_$$name; \
	  build/fuzz/fuzz/fuzz_$$name -max_total_time=$(FUZZ_SECONDS) -runs=$(FUZZ_RUNS) -print_final_stats=1 \
	    build/fuzz/corpus/fuzz_$$name fuzz/corpus/fuzz_$$name; \
	done

fuzz-coverage: ## count the lines of the parsers that the corpora reach, after make fuzz
	scripts/install_dependencies.sh dev
	cmake --preset fuzz-coverage
	cmake --build --preset fuzz-coverage -j $(JOBS)
	fuzz/coverage.sh build/fuzz-coverage build/fuzz/corpus

format: ## format all sources in place
	scripts/install_dependencies.sh dev
	clang-format -i $(SOURCES)

lint: ## check formatting and run clang-tidy (20 minutes)
	scripts/install_dependencies.sh dev
	clang-format --dry-run -Werror $(SOURCES)
	cmake --preset dev -B $(LINT_DIR) -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DCMAKE_UNITY_BUILD=ON \
	  -DCMAKE_UNITY_BUILD_BATCH_SIZE=8
	cmake --build $(LINT_DIR) --target tensorboard_event.pb.h onnx_model.pb.h
	run-clang-tidy -p $(LINT_DIR) -j $(JOBS) -quiet -extra-arg=-Wno-unknown-warning-option \
	  -extra-arg=-include$(CURDIR)/cmake/clang_tidy.h '$(TIDY_FILES).*\.dir/Unity/'

install: build ## install program, library, headers and, if its dependencies exist, the Python package under PREFIX
	if grep -q '^build python: phony' build/release/build.ninja; then \
	  cmake --build --preset release --target python -j $(JOBS); fi
	cmake --install build/release --prefix $(PREFIX)

uninstall: ## remove the files that the last `make install` installed
	xargs -r -d '\n' rm -fv < build/release/install_manifest.txt

reference: build ## generate docs/reference/ from the option tables
	mkdir -p docs/reference
	$(PROGRAM) reference commands --output docs/reference/commands.md
	$(PROGRAM) reference configuration --output docs/reference/configuration.md

package: ## build Debian packages in build/package
	scripts/install_dependencies.sh package python
	cmake --preset release -B build/package -DCMAKE_INSTALL_PREFIX=/usr -DRL_TRAINING_TESTS=OFF \
	  -DRL_TRAINING_PYTHON_DIR=$(CURDIR)/build/package/python \
	  -DRL_TRAINING_PYTHON_INSTALL_DIR:STRING=lib/python3/dist-packages/rl_training
	cmake --build build/package -j $(JOBS)
	cd build/package && cpack

tarball: package ## pack the program with the libraries that it needs, for systems without them
	scripts/make_tarball.sh build/package

test-package: package ## install the packages in a clean Debian 12 and run the demo there (root)
	scripts/install_dependencies.sh chroot
	scripts/test_package.sh build/package

clean: ## remove everything that was built
	rm -rf build
