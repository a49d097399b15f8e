# Two commands on a fresh machine: `make demo` and `make test`. Everything lands in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Set by tools/python-headers.sh when it had to fetch the headers.
HEADERS = $$(cat build/headers/environment 2>/dev/null)
# Rebuilt when the packaging, the C or C++ sources change; Python sources too, since the install is a copy.
SOURCES := pyproject.toml CMakeLists.txt $(shell find src -type f -not -name '*.pyc' -not -name '*.so*' 2>/dev/null)

.PHONY: demo test lint format bench accuracy schema clean

demo: $(VENV)/.stamp-install
	$(BIN)/warpath explain examples/vadd.cu

test: $(VENV)/.stamp-test lint
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/.stamp-test
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $$(find src/core src/shim -name '*.[ch]' -o -name '*.[ch]pp')

format: $(VENV)/.stamp-test
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks
	$(BIN)/clang-format -i $$(find src/core src/shim -name '*.[ch]' -o -name '*.[ch]pp')

# The clock against an H200: every reference case, cold and warm.
accuracy: $(VENV)/.stamp-install
	$(BIN)/python benchmarks/accuracy.py

# The published JSON Schema, after a change of src/warpath/report/model.py.
schema: $(VENV)/.stamp-install
	$(BIN)/warpath doctor --schema docs/schema/report-1.json

bench: $(VENV)/.stamp-test
	$(BIN)/python benchmarks/startup.py

$(VENV)/.stamp-venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "warpath needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	@command -v g++ >/dev/null || { echo "warpath needs g++ to build its core and to run nvcc: apt-get install g++"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	touch $@

# Python's C headers, which Debian keeps in a package of their own: when they are missing, that package is unpacked
# beside the build (no root needed), so that g++ and make are all a fresh machine must bring.
$(VENV)/.stamp-headers: $(VENV)/.stamp-venv
	@$(BIN)/python -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))' \
	  || sh tools/python-headers.sh $(BIN)/python build/headers
	touch $@

$(VENV)/.stamp-install: $(VENV)/.stamp-headers $(SOURCES)
	env $(HEADERS) $(BIN)/pip install --quiet .
	touch $@

$(VENV)/.stamp-test: $(VENV)/.stamp-install
	env $(HEADERS) $(BIN)/pip install --quiet '.[test,dev]'
	touch $@

clean:
	rm -rf $(VENV) build
