# Each target does its own set-up. `make demo` and `make test` need only Python 3.11+ and make.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# A file stays in one process: what it starts, it starts once. One more than there are cores: tests wait a lot.
PARALLEL = --numprocesses $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)') --dist loadfile
BROWSER := .venv/.browser

.PHONY: setup demo up test test-full check fmt bench clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "foja needs Python 3.11 or later; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "python cannot make a virtual environment; on Debian: apt install python3-venv"; exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[server,dev,test]'
	@touch $@

# A Chromium for the browser test, which is skipped where none can be had.
$(BROWSER): $(READY)
	@command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } > /dev/null 2>&1 || \
		echo "no Chromium here: the test in a real browser will be skipped (apt install chromium)"
	@touch $@

demo: $(READY)
	$(BIN)/foja demo

up: $(READY)
	$(BIN)/foja up

test: $(READY) $(BROWSER)
	$(BIN)/pytest $(PARALLEL) -m 'not long'

test-full: $(READY) $(BROWSER)
	$(BIN)/pytest $(PARALLEL)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m bench --write

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
