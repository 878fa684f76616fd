"""Coefficients of the training points: what a step costs does not depend on the dimension."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from featavg.arrays import Array
from featavg.training.engines.base import ALL, Batch, FirstLayer, Groups

# A Gram matrix of more bytes than this is not formed: its products are then made from the points themselves.
LARGEST = 2**30
# Below this many multiplications the zeros of a step are not worth looking for.
SMALL = 300_000
# Points from which it pays to look whether X is triangular, and how many are looked at, or multiplied, at a time.
TRIANGLE, PANEL = 200, 100


class Gram(FirstLayer):
    """w_r = s_r w_r(0) + Σ_i C_ri x_i, and a block is [s | C] (..., neuron, 1 + sample).

    Descent adds multiples of points, C ← C − ηG with G = ∂L/∂Z, so ΔZ = −ηGK with K = X Xᵀ; s changes only where
    weights decay or are normalised. Runs of a stack that follow each other may share their points and K.
    """

    def __init__(
        self, x: Array, weights: Array, matrix: Array | None = None, sharing: Sequence[slice] | None = None
    ) -> None:
        """The points, the initial weights, K if it is known, and which runs each of several samples belongs to."""
        super().__init__(x, weights)
        self.sharing = sharing
        self.initial_products = self._start_products()
        held = matrix is None and x.shape[-2] ** 2 * x.itemsize <= LARGEST
        self.matrix = gram_matrix(x) if held else matrix  # (..., sample, sample)

    def start(self) -> Array:
        """s = 1, C = 0."""
        block = np.zeros((*self.initial_products.shape[:-1], 1 + self.x.shape[-2]), dtype=self.x.dtype)
        block[..., 0] = 1
        return block

    def weights(self, block: Array) -> Array:
        """s W(0) + C X."""
        return block[..., :1] * self.initial + self._times(block[..., 1:], self.x)

    def products(self, block: Array, batch: Batch = ALL) -> Array:
        """s W(0) Xᵀ + C K."""
        if batch.rows is None:
            start = block[..., :1] * self.initial_products
            # At the start of a run there is nothing to multiply.
            return start + self.times_matrix(block[..., 1:]) if np.count_nonzero(block[..., 1:]) else start
        start = block[..., :1] * self.initial_products[..., batch.rows]
        if self.matrix is not None:
            return start + self._times(block[..., 1:], self.matrix[..., batch.rows])
        rows = np.swapaxes(self.x[..., batch.rows, :], -1, -2)
        return start + self._times(self._times(block[..., 1:], self.x), rows)

    def gradient(self, dz: Array, batch: Batch = ALL) -> Array:
        """∂L/∂C = ∂L/∂Z, for descent in the weights: w_r ← w_r − η Σ_i G_ri x_i."""
        block = np.zeros((*dz.shape[:-1], 1 + self.x.shape[-2]), dtype=self.x.dtype)
        if batch.rows is None:
            block[..., 1:] = dz
        else:
            block[..., 1 + batch.rows] = dz  # no point is twice in a batch
        return block

    def effect(self, block: Array, groups: Groups | None = None) -> Array:
        """Δs W(0) Xᵀ + ΔC K."""
        moved = self.times_matrix(block[..., 1:], groups)
        scales = block[..., :1]
        return moved + scales * self.initial_products if np.count_nonzero(scales) else moved

    def inner(self, one: Array, other: Array) -> Array:
        """⟨s w(0) + C X, s' w(0) + C' X⟩."""
        mixed = one[..., :1] * self.initial_products @ np.swapaxes(other[..., 1:], -1, -2)
        back = other[..., :1] * self.initial_products @ np.swapaxes(one[..., 1:], -1, -2)
        start = one[..., :1] * (self.initial @ np.swapaxes(self.initial, -1, -2)) * np.swapaxes(other[..., :1], -1, -2)
        points = self.times_matrix(one[..., 1:]) @ np.swapaxes(other[..., 1:], -1, -2)
        return points + mixed + np.swapaxes(back, -1, -2) + start

    def square_norms(self, block: Array, products: Array) -> Array:
        """⟨w, s w(0) + C X⟩ = s² ‖w(0)‖² + s ⟨C X, w(0)⟩ + C (X w)."""
        scale, coefficients = block[..., 0], block[..., 1:]
        start = scale * (self.initial**2).sum(axis=-1) + (coefficients * self.initial_products).sum(axis=-1)
        return scale * start + (coefficients * products).sum(axis=-1)

    def times_matrix(self, rows: Array, groups: Groups | None = None, out: Array | None = None) -> Array:
        """C K (..., neuron, sample), written to `out` where that spares a copy."""
        if self.matrix is None:
            return self._times(self._times(rows, self.x), np.swapaxes(self.x, -1, -2))
        if groups is None or not self.large(rows):
            return self._times(rows, self.matrix, out)
        from featavg.training.engines.sparse_product import sparse_product  # compiles, so only where it pays

        return sparse_product(rows, self.matrix, groups)

    def _start_products(self) -> Array:
        """W(0) Xᵀ (..., neuron, sample)."""
        if self.x.shape[-2] < TRIANGLE:
            return self._times(self.initial, np.swapaxes(self.x, -1, -2))
        if self.x.ndim == 2:
            return products_with(self.x, self.initial)
        product = np.empty((*self.initial.shape[:-1], self.x.shape[-2]), dtype=self.x.dtype)
        of_each = self.sharing or [slice(run, run + 1) for run in range(len(product))]
        for runs, its in zip(of_each, self.x, strict=True):
            product[runs] = products_with(its, self.initial[runs])
        return product

    def large(self, rows: Array) -> bool:
        """Whether it pays to look for the zeros among coefficients (..., neuron, sample) of a step."""
        return rows.shape[-1] ** 2 * rows.shape[-2] >= SMALL

    def _times(self, rows: Array, columns: Array, out: Array | None = None) -> Array:
        """Rows of each run (..., neuron, m) times what belongs to its sample (..., m, column)."""
        if self.sharing is None:
            return np.matmul(rows, columns, out=out)
        product = np.empty((*rows.shape[:-1], columns.shape[-1]), dtype=rows.dtype) if out is None else out
        for runs, its in zip(self.sharing, columns, strict=True):
            np.matmul(rows[runs], its, out=product[runs])  # what is read of one sample stays in the cache
        return product


def gram_matrix(x: Array) -> Array:
    """K (..., sample, sample) = X Xᵀ, at two fifths of the price where the points are triangular, as compact ones are.

    >>> gram_matrix(np.array([[1.0, 0.0], [2.0, 1.0]]))
    array([[1., 2.],
           [2., 5.]])
    """
    if x.ndim > 2:
        return np.stack([gram_matrix(points) for points in x])
    first = _before_triangle(x) if len(x) >= TRIANGLE else None
    if first is None:
        return x @ x.T
    gram = np.empty((len(x), len(x)), dtype=x.dtype)
    for start, end, rows in _panels(x, first):
        gram[start:end, start:end] = rows @ rows.T
        np.matmul(x[end:, : rows.shape[1]], rows.T, out=gram[end:, start:end])
        gram[start:end, end:] = gram[end:, start:end].T
    return gram


def products_with(x: Array, weights: Array) -> Array:
    """W Xᵀ (..., neuron, sample) for one sample (sample, axis), at half the price where the points are triangular."""
    first = _before_triangle(x)
    if first is None:
        return weights @ x.T
    product = np.empty((*weights.shape[:-1], len(x)), dtype=x.dtype)
    for start, end, rows in _panels(x, first):
        np.matmul(weights[..., : rows.shape[1]], rows.T, out=product[..., start:end])
    return product


def _panels(x: Array, first: int) -> Iterator[tuple[int, int, Array]]:
    """Some rows at a time of points that are triangular after `first` columns, without the zeros right of them."""
    for start in range(0, len(x), PANEL):
        end = min(start + PANEL, len(x))
        yield start, end, x[start:end, : first + end]


def _before_triangle(x: Array) -> int | None:
    """The number of columns before a square lower-triangular rest of X, or None if there is no such rest."""
    samples, axes = x.shape
    ends = np.flatnonzero(x[0])
    # The first row ends on the diagonal, so only one place has to be tried.
    first = int(ends[-1]) if len(ends) else 0
    if first + samples > axes or x[:, first + samples :].any():
        return None
    for start in range(0, samples, PANEL):
        panel = x[: start + PANEL, first + start : first + start + PANEL]
        if panel[:start].any() or np.triu(panel[start:], 1).any():
            return None
    return first
