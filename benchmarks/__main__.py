"""Run every benchmark, or those named: `python -m benchmarks [training] [robustness] [width] [deep_attacks]`."""

import importlib
import sys

ALL = ("training", "robustness", "width", "deep_attacks")

for name in sys.argv[1:] or ALL:
    importlib.import_module(f"benchmarks.{name}").main()
