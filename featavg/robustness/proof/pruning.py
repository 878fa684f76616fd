"""Proofs without what nobody needs: cuts after a node has proved enough, and the nodes below it."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Ints
from featavg.robustness.proof.format import Proofs, lengths


def pruned(proofs: Proofs, needed: Ints) -> Proofs:
    """The first needed[node] cuts of every node, none of the nodes where that is negative; what it proves is the same.

    A node goes only together with its sibling, since both are below the same one.
    """
    kept = needed >= 0
    number = np.arange(len(proofs.reach)) - np.repeat(proofs.first_cut[:-1], lengths(proofs.first_cut))
    cut = number < np.repeat(needed, lengths(proofs.first_cut))
    if kept.all() and cut.all():
        return proofs
    node_of, mixes, thetas = np.cumsum(kept), lengths(proofs.mix_start), lengths(proofs.theta_start)
    mix, theta = np.repeat(cut, mixes), np.repeat(cut, thetas)
    return proofs._replace(
        first_node=np.append(0, node_of)[proofs.first_node],
        **{name: getattr(proofs, name)[kept] for name in ("depth", "neuron", "side", "threshold")},
        first_cut=_starts(needed[kept]),
        **{name: getattr(proofs, name)[cut] for name in ("reach", "box_step", "bend")},
        mix_start=_starts(mixes[cut]),
        mix=proofs.mix[mix],
        theta_start=_starts(thetas[cut]),
        theta_neuron=proofs.theta_neuron[theta],
        theta=proofs.theta[theta],
    )


def _starts(sizes: Ints) -> Ints:
    return np.append(0, np.cumsum(sizes)).astype(np.int64)
