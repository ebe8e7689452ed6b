# `make demo` and `make test` set up everything by themselves; both are quick when called again.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH_SIZES ?= 15M
STAMP := $(VENV)/.installed

.PHONY: demo study test test-slow bench parity lint format clean

demo: $(STAMP)
	$(BIN)/audit demo --out runs

# The critic study at demo size, ended by a signal on the way and resumed.
study: $(STAMP)
	rm -rf runs/study
	$(BIN)/audit run critic_study_demo --out runs/study & run=$$!; \
	until [ "$$(grep -c '"event": *"step"' runs/study/progress.jsonl 2>/dev/null || true)" -ge 30 ] 2>/dev/null; do \
		kill -0 $$run || exit 1; sleep 1; done; \
	kill -TERM $$run; wait $$run; test $$? -eq 130
	$(BIN)/audit run critic_study_demo --out runs/study --resume
	$(BIN)/audit critic runs/study
	$(BIN)/audit report runs/study

test: $(STAMP) lint
	$(BIN)/python -m pytest -m "not slow"

test-slow: $(STAMP)
	$(BIN)/python -m pytest -m slow

bench: $(STAMP)
	$(BIN)/python tests/bench/decisions.py
	PYTHONPATH=tests $(BIN)/python tests/bench/gate.py --sizes $(BENCH_SIZES)
	PYTHONPATH=tests $(BIN)/python tests/bench/integrity.py
	$(BIN)/python tests/bench/importing.py
	PYTHONPATH=tests $(BIN)/python tests/bench/report.py

# Executes the official loss from a checkout of sail-sg/Stable-RL at the pinned commit, which nothing else needs.
parity: $(STAMP)
	PYTHONPATH=. $(BIN)/python tests/parity/stable_rl.py "$(STABLE_RL)"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "runaudit needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[train,dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) runs
