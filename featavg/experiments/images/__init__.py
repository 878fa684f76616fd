"""Coarse and fine labels on images: heads on frozen features, and whole networks."""
