"""Checks too long to run on every change: `make campaign` runs them and writes their records to results/campaign."""
