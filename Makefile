# Everything runs in .venv, which `make` sets up by itself from Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable
TOOLS := captum circuitsvis nnsight onnx pyvene transformer-lens transformers

.PHONY: demo test tools lint bench docs clean

demo: $(READY)  ## run the main job and write demo/index.html
	@mkdir -p demo
	@$(BIN)/espalier demo -o demo/index.html --force
	@echo "In this checkout that is: $(BIN)/espalier explore"

test: lint  ## everything that must hold
	PYTHONHASHSEED=0 $(BIN)/python -m pytest -n 2

tools: $(READY)  ## the tests of other tools, against the real packages
	$(INSTALL) ".[tools]" || for extra in $(TOOLS); do \
	  $(INSTALL) ".[$$extra]" || echo "espalier[$$extra] cannot be installed here; what needs it is skipped"; \
	done
	$(BIN)/python -m pytest -n 2 tests/exports tests/networks tests/decomposition/test_rules.py \
	  tests/commands/test_network_commands.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)  ## measure; prints tables and writes benchmarks/results/*.json
	$(BIN)/python -m benchmarks

docs: $(READY)  ## run the tutorials and build the site into docs/_build/html
	$(INSTALL) ".[docs]"
	$(BIN)/python -m sphinx -W -b html docs docs/_build/html

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "espalier needs Python 3.11 or newer; set PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) demo docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
