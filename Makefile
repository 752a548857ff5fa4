# Firstlight's commands. A machine with Python 3.11 or newer, make and git needs nothing else:
# everything is installed into .venv, at the versions of constraints.txt.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

# Written when an installation has finished; it is out of date when pyproject.toml or constraints.txt is newer.
INSTALLED := $(VENV)/installed
DOCS_INSTALLED := $(VENV)/docs-installed

# It records the folder and the Python version, so that a .venv is built anew if its interpreter is gone or
# changed, if the folder was moved (its scripts hold absolute paths), or if PYTHON= names another version.
VERSION := -c 'import sys; print("%d.%d" % sys.version_info[:2])'
WANTED := $(if $(filter file,$(origin PYTHON)),$(BIN)/python,$(PYTHON))
ifneq ($(shell cat $(INSTALLED) 2>/dev/null),$(CURDIR) $(shell $(WANTED) $(VERSION) 2>/dev/null))
BROKEN := broken
endif

help:  ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-13s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

verify: $(INSTALLED)  ## measure every claim against its baselines and write a report
	@$(BIN)/firstlight verify --html verify-report.html --json verify-report.json; status=$$?; \
	echo "The report: file://$(CURDIR)/verify-report.html (the same as data: verify-report.json)"; exit $$status

test: $(INSTALLED)  ## run the tests, doctests and examples, and print their coverage
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --cov --cov-report=term

lint: $(INSTALLED)  ## check format, style, types, and which module may import which
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

docs: $(DOCS_INSTALLED)  ## build the site in docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "The site: file://$(CURDIR)/docs/_build/html/index.html"

bench: $(INSTALLED)  ## run every system's benchmark against its peers
	@set -e; for benchmark in benchmarks/*.py; do echo "== $$benchmark"; $(BIN)/python $$benchmark; done

dist: $(INSTALLED)  ## build the wheel and the source archive in dist/
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

constraints: TORCH ?= $(shell sed -n 's/^torch==//p' constraints.txt)
constraints:  ## renew constraints.txt: newest releases, torch as it is unless TORCH= says otherwise
	rm -rf build/constraints
	$(PYTHON) -m venv build/constraints
	build/constraints/bin/pip --disable-pip-version-check install --quiet "torch==$(TORCH)" ".[all,dev,docs]"
	@{ sed '/^[^#]/,$$d' constraints.txt; \
	   build/constraints/bin/pip freeze --exclude firstlight | sed 's/+[a-z0-9]*$$//' | LC_ALL=C sort -f; } \
	   > build/constraints.txt
	mv build/constraints.txt constraints.txt
	rm -rf build/constraints

clean:  ## remove everything made here, .venv included
	rm -rf $(VENV) build dist docs/_build docs/api/generated docs/gallery docs/sg_execution_times.rst
	rm -rf .coverage* .hypothesis .import_linter_cache .pytest_cache .ruff_cache verify-report.html verify-report.json
	find src tests examples benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints.txt $(BROKEN)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "Firstlight needs Python 3.11 or newer; name one, as in: make PYTHON=python3.12 verify" >&2; exit 1; }
	@echo "Installing Firstlight into $(VENV): a minute or two, the first time."
	$(if $(BROKEN),$(PYTHON) -m venv --clear $(VENV))
	$(PIP) --editable ".[all,dev]"
	@echo "$(CURDIR) $$($(BIN)/python $(VERSION))" > $@

$(DOCS_INSTALLED): $(INSTALLED)
	$(PIP) --editable ".[all,dev,docs]"
	@touch $@

.PHONY: help verify test lint docs bench dist constraints clean broken
