# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WHOLE := $(VENV)/.whole
SITE := $(VENV)/.site
PYTEST := -m pytest -n 2 --dist worksteal
ALL := -m "not load and not release"
ifndef SEED
SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d " ")
endif
# PyTorch from PyPI brings some gigabytes of GPU libraries; UV_TORCH_BACKEND=cpu leaves them out.
UV := $(or $(shell command -v uv),$(BIN)/uv)
# The versions of Python that `make test-python` runs the tests with.
PYTHONS := 3.12 3.13
# The page's script, and what `make lint-page` checks it with.
SCRIPT := src/whatfor/explorer/assets/script
TYPESCRIPT := typescript@5.9
PRETTIER := prettier@3.6 --print-width 120

.PHONY: demo test test-long test-release test-random test-bounds test-lowest test-python browser lint lint-page format-page fuzz stress bench paper paper-deep calibration readme docs wheel screenshots clean

demo: $(READY)  ## train Taxi, ask why at one state, draw the answer, and write a page to question it with
	$(BIN)/python examples/taxi.py

test: $(WHOLE)  ## the tests and doctests, and the coverage; test-long runs the long ones, bench the load test; those of the page need a browser, and are skipped where there is none
	@mkdir -p out
	$(BIN)/python -m slipcover $(PYTEST)
	@$(BIN)/python -c "import json; print('{percent_covered:.0f} % of the lines of src/whatfor outside compiled code are covered'.format(**json.load(open('out/coverage.json'))['summary']))"

test-release: $(WHOLE)  ## before a release: whether the outputs that take minutes were printed by the package as it is
	$(BIN)/python $(PYTEST) -m release

test-random: $(WHOLE)  ## the property tests with more cases, other ones each time; SEED=... repeats a run
	@echo "To repeat this run: make test-random SEED=$(SEED)"
	$(BIN)/python $(PYTEST) -m hypothesis --hypothesis-profile=random --hypothesis-seed=$(SEED)

test-long: $(WHOLE)  ## the long tests: commands of the documentation, and studies of many seeds
	$(BIN)/python $(PYTEST) -m long

test-bounds: $(WHOLE)  ## all tests, also the long ones, with every index into compiled code checked
	NUMBA_BOUNDSCHECK=1 $(BIN)/python $(PYTEST) $(ALL)

test-lowest: python-3.11  ## all tests with Python 3.11 and the oldest versions that pyproject.toml allows
	rm -rf .venv-lowest
	$(UV) venv --quiet --python 3.11 .venv-lowest
	$(UV) pip install --quiet --python .venv-lowest --resolution lowest-direct --group test --editable ".[all]"
	.venv-lowest/bin/python $(PYTEST) $(ALL)

test-python: $(PYTHONS:%=python-%) $(PYTHONS:%=test-python-%)  ## all tests with Python 3.12 and 3.13

test-python-%: python-%
	rm -rf .venv-$*
	$(UV) venv --quiet --python $* .venv-$*
	$(UV) pip install --quiet --python .venv-$* --constraint constraints.txt --group test --editable ".[all]"
	.venv-$*/bin/python $(PYTEST) $(ALL)

python-%: $(UV)  # the interpreters first: a missing one is reported before the work
	@$(UV) python find --no-python-downloads $* || { echo "Python $* is missing; get it with: $(UV) python install $*"; exit 1; }

browser: $(WHOLE)  ## a browser for the tests, where none is found: Debian's package as root, else Playwright's download
	$(BIN)/python tests/explorer/browsers.py

lint: $(WHOLE)  ## style, types, the direction of imports, and the counts that are kept
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/counts.py

lint-page:  ## types and format of the page's script (needs Node.js; not part of lint)
	@command -v npx > /dev/null || { echo "npx is missing; install Node.js from https://nodejs.org"; exit 1; }
	npx --yes -p $(TYPESCRIPT) tsc --project $(SCRIPT)
	npx --yes $(PRETTIER) --check $(SCRIPT)

format-page:  ## format the page's script (needs Node.js)
	npx --yes $(PRETTIER) --write $(SCRIPT)

fuzz: $(WHOLE)  ## 20,000 mutated run folders and 4,000 deep ones, loaded and questioned under bounds checks: half an hour
	$(BIN)/python -m fuzz

stress: $(WHOLE)  ## savers and readers at once, and 250 SIGKILLs while saving and training: some minutes
	$(BIN)/python -m fuzz.stress

bench: $(WHOLE)  ## the ratios in docs/performance.md, measured in one run (needs a browser)
	$(BIN)/python benchmarks/bench.py

paper: $(WHOLE)  ## the paper's tabular figures and claims, trained, drawn and measured on 20 seeds, into out/paper
	$(BIN)/whatfor paper --out out/paper
	cp out/paper/claims.json benchmarks/paper.json

paper-deep: $(WHOLE)  ## the paper's deep figures, into out/paper-deep; training takes some quarter of an hour for each of 3 seeds
	$(BIN)/whatfor paper --deep --out out/paper-deep
	cp out/paper-deep/claims.json benchmarks/paper_deep.json

calibration: $(WHOLE)  ## how often a comparison names a cause wrongly, and rightly: 100 seeds, a quarter of an hour
	$(BIN)/python benchmarks/calibration.py

readme: $(WHOLE)  ## put what the commands print into the README, the pages and the tutorials, and draw their pictures: some minutes
	$(BIN)/python docs/fill_readme.py
	$(BIN)/python docs/fill_notebooks.py
	cp out/taxi.png out/deep_acrobot.png out/deep_acrobot_comparison.png docs/images/

docs: $(SITE)  ## the documentation site, into out/site; warnings are errors
	$(BIN)/python -m sphinx -E -b html -n -W --keep-going -q docs out/site
	@echo "out/site/index.html"

wheel:  ## build the wheel into dist, install it into an empty environment outside this folder, and try it there
	$(PYTHON) .ci/wheel.py

screenshots: $(WHOLE)  ## pictures of the explorer, for the README and its page (needs a browser)
	$(BIN)/python docs/screenshots.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[plot]"
	touch $(READY)

$(BIN)/uv: | $(READY)
	$(BIN)/python -m pip install --quiet uv

# What deep agents, tests and linters need besides: PyTorch alone is larger than all the rest.
$(WHOLE): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev --editable ".[all]"
	touch $(WHOLE)

$(SITE): $(WHOLE)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group docs
	touch $(SITE)

clean:
	rm -rf $(VENV) .venv-lowest .venv-3.* out build dist
