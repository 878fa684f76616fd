"""What the search hands over: proofs that the checker takes as they come."""

import numpy as np
from numpy.testing import assert_allclose

from featavg.robustness.proof import Decision, Neurons, Problem, check
from featavg.robustness.search.budget import Budget
from featavg.robustness.search.propose import propose


def test_classes_with_unequal_numbers_of_outputs_are_proved_at_the_first_search() -> None:
    """A rival of a class has as many rows as the class has outputs."""
    rng = np.random.default_rng(2)
    groups = np.repeat([0, 1, 2], [1, 3, 6])
    neurons = Neurons(*(rng.standard_normal(size) for size in ((10, 4), 10, (len(groups), 10), len(groups))))
    x = rng.standard_normal((60, 4))
    outputs = np.maximum(x @ neurons.weights.T + neurons.biases, 0.0) @ neurons.outputs.T + neurons.constants
    labels = groups[outputs.argmax(axis=1)]
    assert set(labels) == {0, 1, 2}
    problem = Problem(neurons, x, labels, Decision("maximum", groups))
    proposal = propose(problem, Budget(), lambda done, total: None)
    sizes = np.diff(proposal.proofs.mix_start)
    assert set(sizes[sizes > 0]) == {1, 3, 6}
    found = proposal.lower > 0
    assert found.mean() > 0.9
    assert_allclose(check(problem, proposal.proofs)[found], proposal.lower[found], rtol=1e-6)
