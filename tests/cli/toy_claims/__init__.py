"""Experiments that take no time and prove nothing, for tests of the machinery."""
