# Two commands for people: `make reproduce` and `make test`. Both set up their own environment first.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# One thread per BLAS call: the arrays here are small, and runs are then the same on every machine.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.PHONY: reproduce test campaign benchmarks clean

reproduce: $(VENV)/.user
	$(VENV)/bin/featavg reproduce

test: $(VENV)/.developer
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/python -m pytest

campaign: $(VENV)/.developer
	$(VENV)/bin/python -m campaign

benchmarks: $(VENV)/.bench
	$(VENV)/bin/python -m benchmarks

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.user: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e .
	touch $@

$(VENV)/.developer: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[dev]'
	touch $@ $(VENV)/.user

$(VENV)/.bench: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[dev,bench]'
	touch $@ $(VENV)/.user $(VENV)/.developer

clean:
	rm -rf $(VENV) runs build dist .mypy_cache .ruff_cache .pytest_cache
