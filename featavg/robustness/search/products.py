"""Inner products in neuron space: vectors h = Wᵀθ are given by θ, and what a neuron sees of them is W h = Gθ."""

from __future__ import annotations

from featavg.arrays import Array
from featavg.robustness.proof.arithmetic import clear, copy, dot
from featavg.robustness.proof.compiled import borrowing, entry, summing
from featavg.robustness.search.places import Pieces, Space

# Images derived from each other gather rounding; after so many one is computed afresh.
MOST_DERIVED = 50


@borrowing
def add_multiple(factor: float, vector: Array, out: Array) -> None:
    """out += factor · vector."""
    for i in range(out.size):
        out[i] += factor * vector[i]


@entry
def largest(values: Array) -> float:
    """The largest entry."""
    most = values[0]
    for value in values:
        most = max(most, value)
    return most


@borrowing
def weigh(coefficients: Array, vectors: Array, out: Array) -> None:
    """out += Σ_j coefficients_j vectors_j, four vectors at a time; zeros cost nothing."""
    taken = 0
    picked = (0, 0, 0, 0)
    for j in range(coefficients.size):
        if coefficients[j] == 0.0:
            continue
        picked = (picked[1], picked[2], picked[3], j)
        taken += 1
        if taken == 4:
            i0, i1, i2, i3 = picked
            c0, c1, c2, c3 = coefficients[i0], coefficients[i1], coefficients[i2], coefficients[i3]
            v0, v1, v2, v3 = vectors[i0], vectors[i1], vectors[i2], vectors[i3]
            for k in range(out.size):
                out[k] += (c0 * v0[k] + c1 * v1[k]) + (c2 * v2[k] + c3 * v3[k])
            taken = 0
    for back in range(taken):
        j = picked[3 - back]
        add_multiple(coefficients[j], vectors[j], out)


@summing
def weight_of(theta: Array, norms: Array) -> float:
    """Σ |θ_j|‖w_j‖."""
    total = 0.0
    for j in range(theta.size):
        total += abs(theta[j]) * norms[j]
    return total


@borrowing
def look(space: Space, pieces: Pieces, slot: int) -> None:
    """Write the image W h (and h, without a Gram matrix) of the row in a slot."""
    theta, image = pieces.theta[slot], pieces.image[slot]
    if space.gram.shape[0] > 0:
        look_again(space, pieces, theta, image)
        return
    normal = pieces.normal[slot]
    clear(normal)
    weigh(theta, space.weights, normal)
    for j in range(image.size):
        image[j] = dot(space.weights[j], normal)


@borrowing
def look_again(space: Space, pieces: Pieces, theta: Array, image: Array) -> None:
    """image = Gθ, from that of the last row where θ differs from it in few places."""
    last_theta, last_image, change = pieces.last[0], pieces.last[1], pieces.last[2]
    changed = used = 0
    for j in range(theta.size):
        change[j] = theta[j] - last_theta[j]
        changed += change[j] != 0.0
        used += theta[j] != 0.0
    if changed < used and pieces.steps[0] < MOST_DERIVED:
        copy(last_image, image)
        weigh(change, space.gram, image)
        pieces.steps[0] += 1
    else:
        clear(image)
        weigh(theta, space.gram, image)
        pieces.steps[0] = 0
    copy(theta, last_theta)
    copy(image, last_image)


@borrowing
def look_at_neuron(space: Space, pieces: Pieces, slot: int, neuron: int, side: float) -> None:
    """The same for h = side·w_neuron."""
    clear(pieces.theta[slot])
    pieces.theta[slot, neuron] = side
    image = pieces.image[slot]
    if space.gram.shape[0] > 0:
        seen = space.gram[neuron]
        for j in range(image.size):
            image[j] = side * seen[j]
        return
    vector, normal = space.weights[neuron], pieces.normal[slot]
    for i in range(normal.size):
        normal[i] = side * vector[i]
    for j in range(image.size):
        image[j] = dot(space.weights[j], normal)


@borrowing
def inner_product(space: Space, pieces: Pieces, one: int, other: int) -> float:
    """⟨h, h'⟩ of two pieces."""
    if space.gram.shape[0] > 0:
        return dot(pieces.theta[one], pieces.image[other])
    return dot(pieces.normal[one], pieces.normal[other])
