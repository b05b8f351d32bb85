# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint bench paper paper-deep calibration readme clean

demo: $(READY)  ## train Taxi, ask why at one state, draw the answer
	$(BIN)/python examples/taxi.py

test: $(READY)  ## all tests and doctests
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(READY)  ## style, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)  ## the ratios in the README, measured in one run
	$(BIN)/python benchmarks/bench.py

paper: $(READY)  ## the paper's tabular figures, trained, drawn and checked, into out/paper
	$(BIN)/whatfor paper --out out/paper

paper-deep: $(READY)  ## the paper's deep figures, into out/paper-deep; training takes some quarter of an hour
	$(BIN)/whatfor paper --deep --out out/paper-deep

calibration: $(READY)  ## how often a comparison calls a right belief wrong: 200 seeds, some ten minutes
	$(BIN)/python benchmarks/calibration.py

readme: $(READY)  ## put what the commands print into the README and the pages, and draw the gallery: some minutes
	$(BIN)/python docs/fill_readme.py
	cp out/taxi.png out/deep_acrobot.png out/deep_acrobot_comparison.png docs/images/

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev --editable ".[all]"
	touch $(READY)

clean:
	rm -rf $(VENV) out build dist
