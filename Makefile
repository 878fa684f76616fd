# Two commands for people: `make reproduce` and `make test`. Both set up their own environment first.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Compiles what computes exact radii, so that nobody waits for it later; what is compiled already costs nothing.
WARM := $(VENV)/bin/python -m featavg.robustness.warm
# One thread per BLAS call: the arrays here are small, and runs are then the same on every machine.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

# A process per core, up to four: each of them imports torch and takes most of a gigabyte.
PYTEST := $(VENV)/bin/python -m pytest -n auto --maxprocesses 4 --dist worksteal
# What convolves in float32 is run twice: processors without AVX-512 take other kernels of oneDNN and round differently.
CONVOLVING := featavg/deep tests/deep tests/refine/test_deep.py tests/cli/test_workshop.py \
	tests/experiments/test_image_robustness.py tests/experiments/test_feature_experiments.py tests/experiments/test_every_experiment.py

.PHONY: reproduce test docs campaign benchmarks clean

reproduce: $(VENV)/.user
	$(VENV)/bin/featavg reproduce

test: $(VENV)/.developer
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(PYTEST)
	ONEDNN_MAX_CPU_ISA=AVX2 $(PYTEST) -q -m 'not no_convolution' $(CONVOLVING)

docs: $(VENV)/.docs
	$(VENV)/bin/python -m sphinx -W --keep-going -q -b html docs docs/_build

campaign: $(VENV)/.developer
	$(VENV)/bin/python -m campaign

benchmarks: $(VENV)/.bench
	$(VENV)/bin/python -m benchmarks

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.user: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e .
	$(WARM)
	touch $@

$(VENV)/.developer: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[dev]'
	$(WARM)
	touch $@ $(VENV)/.user

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[docs]'
	touch $@ $(VENV)/.user

$(VENV)/.bench: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[dev,bench]'
	$(WARM)
	touch $@ $(VENV)/.user $(VENV)/.developer

clean:
	rm -rf $(VENV) runs docs/_build build dist .mypy_cache .ruff_cache .pytest_cache
