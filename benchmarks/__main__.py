"""Run every benchmark, or those named: `python -m benchmarks [training] [robustness] [width] [exact] …`."""

import argparse
import importlib

ALL = ("training", "robustness", "width", "exact", "deep_attacks", "lab", "sweep")
NAMED = ("walks",)  # no record: what it counts is printed

parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
parser.add_argument("names", nargs="*", default=ALL, choices=ALL + NAMED)
for name in parser.parse_args().names:
    importlib.import_module(f"benchmarks.{name}").main()
