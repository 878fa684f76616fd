"""Ratios against peers, measured side by side: one thread each, CPU time, both sides warmed up."""

import os

# Before NumPy and torch are imported: one thread each, or the ratio would be that of two thread pools.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
