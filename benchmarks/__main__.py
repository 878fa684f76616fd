"""Run every benchmark, or those named: `python -m benchmarks [training] [robustness] [width] [exact] …`."""

import importlib
import sys

ALL = ("training", "robustness", "width", "exact", "deep_attacks", "lab", "sweep")

for name in sys.argv[1:] or ALL:
    importlib.import_module(f"benchmarks.{name}").main()
