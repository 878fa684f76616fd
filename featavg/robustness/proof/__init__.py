"""The checker: it turns a proof into a number, with enclosures, and knows nothing of how proofs are found.

    check(problem: Problem, proofs: Proofs, claimed: Array | None = None) -> Floats         lower (point,)
    checked(problem: Problem, proofs: Proofs, claimed: Array | None = None)                 the same, and what it needed
    witness_distance(problem: Problem, witness: Array) -> Floats                            upper (point,)
    certified(problem: Problem, certificates: Sequence[Certificate]) -> Floats              lower (point,), in rationals
    infinite(problem: Problem, certificates: Sequence[Certificate]) -> Bools                lower = upper = ∞ (point,)
    proves(problem: Problem, proofs: Proofs, lower: Array) -> Bools                         does it prove that much?
    shows(problem: Problem, witness: Array, upper: Array) -> Bools                          does it show that little?
    rivals(decision: Decision, label: int, outputs: int) -> Ints                            all that must be excluded

`check` returns what the proofs prove: no point of any rival lies closer than that; 0 where a rival has no valid tree.
It uses the cheapest arithmetic that reaches `claimed` up to 1e-7; without `claimed` the finest.
`witness_distance` is the distance, rounded up, of a point that is certainly fooled and in the box, else ∞.
`format.py` says what a problem and a proof are, `regions.py` what `mix` means, `tree.py` what a cut proves.
"""

from featavg.robustness.proof.certificates import Certificate as Certificate
from featavg.robustness.proof.certificates import certified as certified
from featavg.robustness.proof.certificates import infinite as infinite
from featavg.robustness.proof.checker import check as check
from featavg.robustness.proof.checker import checked as checked
from featavg.robustness.proof.checker import proves as proves
from featavg.robustness.proof.format import Decision as Decision
from featavg.robustness.proof.format import Neurons as Neurons
from featavg.robustness.proof.format import Problem as Problem
from featavg.robustness.proof.format import Proofs as Proofs
from featavg.robustness.proof.regions import rivals as rivals
from featavg.robustness.proof.witness import shows as shows
from featavg.robustness.proof.witness import witness_distance as witness_distance
