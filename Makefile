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

# What the lowest declared versions are tried on: everything but deep networks, whole chapters and the long proofs.
LOWEST := tests/test_intervals.py tests/model/test_files.py tests/model/test_ideal.py tests/model/test_network.py tests/record \
	tests/cli/test_door.py tests/data/test_open.py tests/training/test_options.py tests/refine/test_columns.py tests/robustness/test_attacks.py

.PHONY: reproduce test lowest docs campaign benchmarks clean

reproduce: $(VENV)/.user
	$(VENV)/bin/featavg reproduce

test: $(VENV)/.developer
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(PYTEST)
	ONEDNN_MAX_CPU_ISA=AVX2 $(PYTEST) -q -m 'not no_convolution' $(CONVOLVING)

# The lowest versions that pyproject.toml declares, then newer interpreters with the newest, where there are any.
lowest:
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) -c "import tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
		print(*(one.replace('>=', '==') for one in project['dependencies']), sep='\n')" > .venv-lowest/requirements.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -r .venv-lowest/requirements.txt safetensors pytest hypothesis
	# Deprecations inside old versions of others are theirs.
	# What they compile is kept apart: another version of the compiler would overwrite what users have.
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-lowest/compiled PYTHONPATH=$(CURDIR) \
		.venv-lowest/bin/python -m pytest -q -p no:cacheprovider -W ignore::DeprecationWarning $(LOWEST)
	for version in 3.12 3.13; do \
		if python$$version --version > /dev/null 2>&1; then \
			python$$version -m venv .venv-$$version && \
			.venv-$$version/bin/python -m pip install --quiet --disable-pip-version-check -e . safetensors pytest hypothesis && \
			NUMBA_CACHE_DIR=$(CURDIR)/.venv-$$version/compiled .venv-$$version/bin/python -m pytest -q -p no:cacheprovider $(LOWEST) || exit 1; \
		else echo "python$$version is not here: left out"; fi; \
	done

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
	rm -rf $(VENV) .venv-* runs docs/_build docs/_generated build dist .mypy_cache .ruff_cache .pytest_cache
