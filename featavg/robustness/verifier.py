"""From proofs to proved distances; no solver is called and nothing of the search is imported."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.certificate import Stage, empty_distance, tree_distance
from featavg.robustness.first_proof import Emptiness, Proof
from featavg.robustness.pooled import PooledProof
from featavg.robustness.pooled_certificate import pooled_proved, slabs_proved
from featavg.robustness.question import Question
from featavg.robustness.slabs import SlabProof

AnyProof = Proof | Emptiness | PooledProof | SlabProof
Proofs = list[AnyProof]


def proved(question: Question, proofs: Proofs) -> Array:
    """The distance (sample,) within which the proofs show no fooled point; 0 where a rival has no proof."""
    stage = Stage.of(question)
    least: list[dict[int, float]] = [{} for _ in question.x]
    for proof in proofs:
        distances = _distances(stage, proof)
        distances = np.where(distances >= stage.outline(proof.points).ball.diameter, np.inf, distances)
        for point, rival, distance in zip(proof.points.tolist(), proof.rivals.tolist(), distances, strict=True):
            least[point][rival] = max(least[point].get(rival, 0.0), float(distance))
    return np.array([min(least[i].get(rival, 0.0) for rival in stage.rivals(i)) for i in range(len(least))])


def _distances(stage: Stage, proof: AnyProof) -> Array:
    if isinstance(proof, SlabProof):
        return slabs_proved(stage, proof)
    if isinstance(proof, PooledProof):
        return np.array([pooled_proved(stage, proof)])
    scene = stage.scene(proof.points, proof.rivals)
    return empty_distance(scene, proof) if isinstance(proof, Emptiness) else tree_distance(scene, proof.root)
