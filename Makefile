# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WHOLE := $(VENV)/.whole

.PHONY: demo test lint bench paper paper-deep calibration readme screenshots clean

demo: $(READY)  ## train Taxi, ask why at one state, draw the answer, and write a page to question it with
	$(BIN)/python examples/taxi.py

test: $(WHOLE)  ## all tests and doctests
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(WHOLE)  ## style, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(WHOLE)  ## the ratios in the README, measured in one run
	$(BIN)/python benchmarks/bench.py

paper: $(WHOLE)  ## the paper's tabular figures, trained, drawn and checked, into out/paper
	$(BIN)/whatfor paper --out out/paper

paper-deep: $(WHOLE)  ## the paper's deep figures, into out/paper-deep; training takes some quarter of an hour
	$(BIN)/whatfor paper --deep --out out/paper-deep

calibration: $(WHOLE)  ## how often a comparison calls a right belief wrong: 200 seeds, some ten minutes
	$(BIN)/python benchmarks/calibration.py

readme: $(WHOLE)  ## put what the commands print into the README and the pages, and draw the gallery: some minutes
	$(BIN)/python docs/fill_readme.py
	cp out/taxi.png out/deep_acrobot.png out/deep_acrobot_comparison.png docs/images/

screenshots: $(WHOLE)  ## pictures of the explorer, for the README and its page (needs chromium)
	$(BIN)/python docs/screenshots.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[plot]"
	touch $(READY)

# What deep agents, tests and linters need besides: PyTorch alone is larger than all the rest.
$(WHOLE): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev --editable ".[all]"
	touch $(WHOLE)

clean:
	rm -rf $(VENV) out build dist
