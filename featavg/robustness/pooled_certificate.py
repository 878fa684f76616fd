"""The check of proofs for summed probabilities: the rows are recomputed, the arithmetic is `certificate.py`'s."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from featavg.arrays import Array
from featavg.robustness.certificate import Scene, Stage, half_space, meet
from featavg.robustness.first_proof import Cut
from featavg.robustness.pooled import Pool, PooledCut, PooledNode, PooledProof, pool_of
from featavg.robustness.slabs import SlabProof, Slabs

# Boxes of output differences are widened by this.
WIDER = 1e-12
# Share of a slab's terms that rounding may hide.
ROUNDING = 1e-14
Pending = tuple[PooledNode, Array, Array, Array, Array, float]


def pooled_proved(stage: Stage, proof: PooledProof) -> float:
    """The distance within which a proof shows no point fooled for its rival."""
    pool = pool_of(stage.fooled, int(stage.question.y[proof.points[0]]), int(proof.rivals[0]))
    scene = stage.outline(proof.points)
    least, unknown = np.inf, np.full(scene.start.shape, np.inf)
    free = np.full(len(pool.others), -np.inf), np.zeros(len(pool.others))
    pending: list[Pending] = [(proof.root, -unknown, unknown, *free, 0.0)]
    while pending:
        node, low, high, down, up, distance = pending.pop()
        nothing = False
        for cut in node.cuts:
            reach = np.array([cut.reach])
            ball = reach[:, None] * scene.ball.norms
            low, high = meet(scene, low, high, reach, -ball, ball)
            box = pool.box(low[0], high[0], (down, up), WIDER)
            nothing |= bool((box[0] > box[1]).any())
            normal, offset, now = half_space(_with_rows(scene, pool, cut, box, (down, up)), _plain(cut), low, high)
            low, high = meet(scene, low, high, reach, *scene.ball.extent(normal, offset, now, reach))
            distance, least = max(distance, float(now[0])), min(least, cut.reach)
        if node.children:
            pending.extend(_sides(node, low, high, down, up, distance))
        elif not (nothing or (low > high).any()):
            least = min(least, distance)
    return least


def slabs_proved(stage: Stage, proof: SlabProof) -> Array:
    """The reach (rival,) of a proof whose slabs cover the ball and are all empty, else 0."""
    point, label = proof.points[0], int(stage.question.y[proof.points[0]])
    scene, sides = stage.outline(proof.points[:1]), stage.fooled.sides
    toward, edges = proof.direction @ scene.ball.weights, proof.edges
    covers = bool(edges[0] <= -proof.reach and edges[-1] >= proof.reach and (np.diff(edges) > 0).all())
    everyone = np.array_equal(np.sort(proof.rivals), np.flatnonzero(sides == -label)) and (proof.points == point).all()
    if not (covers and everyone and toward.any() and stage.question.norm == "l2"):
        return np.zeros(len(proof.rivals))
    slabs = Slabs(
        stage.fooled.neurons, np.flatnonzero(sides == label), proof.rivals, scene.ball.weights, scene.start[0],
        scene.magnitude[0], toward / np.linalg.norm(toward),
    )  # fmt: skip
    parts = zip(_distributions(proof.tangents), edges[:-1], edges[1:], strict=True)
    empty = all(slabs.empty(p, low, high, proof.reach, ROUNDING) for p, low, high in parts)
    return np.full(len(proof.rivals), proof.reach if empty else 0.0)


def _with_rows(
    scene: Scene, pool: Pool, cut: PooledCut, box: tuple[Array, Array], branched: tuple[Array, Array]
) -> Scene:
    """The scene with the rows of this cut: any distribution and any positive level make a valid one."""
    rows, constants = pool.rows(_distributions(cut.tangents), np.maximum(cut.levels, 1e-300), box, branched)
    return replace(scene, rows=rows[None], constants=constants[None])


def _distributions(tangents: Array) -> Array:
    """Rows made positive with sum 1, whatever they were."""
    positive = np.maximum(tangents, 1e-300)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def _plain(cut: PooledCut) -> Cut:
    return Cut(np.array([cut.reach]), cut.rows[None], cut.slopes[None])


def _sides(node: PooledNode, low: Array, high: Array, down: Array, up: Array, distance: float) -> list[Pending]:
    sides = [[part.copy() for part in (low, high, down, up)] for _ in range(2)]
    if node.neuron >= 0:
        j = node.neuron
        sides[0][1][0, j], sides[1][0][0, j] = min(high[0, j], 0.0), max(low[0, j], 0.0)
    else:
        j = node.other
        sides[0][3][j], sides[1][2][j] = min(up[j], node.level), max(down[j], node.level)
    return [(child, s[0], s[1], s[2], s[3], distance) for child, s in zip(node.children, sides, strict=True)]
