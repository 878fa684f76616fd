"""The exact radius on hostile networks against independent truth: exact rationals, ball arithmetic, solvers."""

from campaign.soundness.runner import run as run
