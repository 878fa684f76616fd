"""The exact radius against brute force, SCIP and every attack, on random and degenerate networks.

Each chunk of problems has its own seed and leaves a JSON file, so an interrupted campaign goes on where it stopped.
"""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from featavg.record import Claim, Drawing, Evidence, Provenance, Record, Table
from featavg.robustness import Question, RadiusBracket, robust_radius
from featavg.robustness.attacks import PGD, BoundaryWalk, GradientWalk, UniversalDirection
from tests.robustness.oracles import KINDS, brute_force_radius, random_problem, scip_radius

ORACLE_CHUNKS, ORACLE_PROBLEMS = 80, 25  # 2,000 networks, one point each
FUZZ_CHUNKS, FUZZ_PROBLEMS, FUZZ_POINTS = 100, 25, 40  # 100,000 points
SCIP_EVERY = 5  # SCIP is the slower oracle and confirms every fifth answer
AGREE = 1e-6  # relative; the search stops there
# Beyond this distance the tolerance of a tie, 1e-9 of terms that grow with the distance, makes ties of anything.
FAR = 1e6
NEARER = f"; attacks count up to a distance of {FAR:g}, beyond which rounding makes ties of anything"
SCIP_AGREES = 1e-5  # SCIP accepts constraints that are violated by 1e-6


def run(folder: Path, workers: int) -> Record:
    """Run what is not there yet and sum up."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    jobs = [("oracle", chunk) for chunk in range(ORACLE_CHUNKS)] + [("fuzz", chunk) for chunk in range(FUZZ_CHUNKS)]
    waiting = [job for job in jobs if not _path(folder, *job).exists()]
    with ProcessPoolExecutor(workers) as pool:
        running = [pool.submit(_chunk, folder, *job) for job in waiting]
        for future in track(as_completed(running), description="campaign", total=len(running)):
            future.result()
    found = {
        kind: [json.loads(_path(folder, k, c).read_text()) for k, c in jobs if k == kind] for kind in ("oracle", "fuzz")
    }
    return _record(found, time.perf_counter() - began)


def _path(folder: Path, kind: str, chunk: int) -> Path:
    return folder / f"{kind}-{chunk:03d}.json"


def _chunk(folder: Path, kind: str, chunk: int) -> None:
    result = {"oracle": _oracle, "fuzz": _fuzz}[kind](chunk)
    partial = _path(folder, kind, chunk).with_suffix(".partial")
    partial.write_text(json.dumps(result))
    os.replace(partial, _path(folder, kind, chunk))


def _oracle(chunk: int) -> dict[str, Any]:
    """Compare one point of each problem with all activation patterns, and every fifth with SCIP."""
    rng = np.random.default_rng([1, chunk])
    differences, scip, failed = [], [], []
    for number in range(ORACLE_PROBLEMS):
        kind = KINDS[(chunk * ORACLE_PROBLEMS + number) % len(KINDS)]
        question = random_problem(rng, kind)
        bracket = _answer(question)
        truth = brute_force_radius(question, 0)
        differences.append(_difference(bracket.upper[0], truth))
        wrong = differences[-1] > AGREE
        if number % SCIP_EVERY == 0 and 0 < truth < 100:
            scip.append(_difference(bracket.upper[0], scip_radius(question, 0, horizon=2 * truth)))
            wrong |= scip[-1] > SCIP_AGREES
        if wrong:
            failed.append([kind, number, bracket.status[0], float(bracket.upper[0]), float(truth), *scip[-1:]])
    return {"differences": differences, "scip": scip, "failed": failed}


def _difference(radius: float, truth: float) -> float:
    if np.isinf(radius) or np.isinf(truth):
        return 0.0 if radius == truth else 1e9
    return float(abs(radius - truth) / max(truth, 1e-3))


def _fuzz(chunk: int) -> dict[str, Any]:
    """Hold brackets, witnesses, certificates and attacks against each other."""
    rng = np.random.default_rng([2, chunk])
    counts = dict.fromkeys(("points", "exact", "crossed", "witness", "unverified", "beaten"), 0)
    failed = []
    for number in range(FUZZ_PROBLEMS):
        question = random_problem(rng, KINDS[number % len(KINDS)], points=FUZZ_POINTS)
        bracket = _answer(question)
        wrong = {
            "crossed": bracket.lower > bracket.upper,
            "witness": ~_witness_holds(bracket),
            "unverified": ~bracket.verify(),
            "beaten": _shortest(question) < bracket.lower * (1 - 1e-9),
        }
        counts["points"] += len(bracket)
        counts["exact"] += sum(status == "exact" for status in bracket.status)
        for name, bad in wrong.items():
            counts[name] += int(bad.sum())
            failed += [[name, number, int(i)] for i in np.flatnonzero(bad)]
    return counts | {"failed": failed}


def _answer(question: Question) -> RadiusBracket:
    return robust_radius(question.network, question.x, question.y, readout=question.readout)


def _witness_holds(bracket: RadiusBracket) -> np.ndarray:
    """The witness is fooled at distance `upper`; there is none exactly where upper is ∞."""
    question, none = bracket.question, np.isinf(bracket.upper)
    points = np.where(none[:, None], question.x, bracket.witness)
    near = np.isclose(question.distances(points), bracket.upper, rtol=1e-9)
    return np.where(none, np.isnan(bracket.witness).all(axis=1), question.fooled(points) & near)


def _shortest(question: Question) -> np.ndarray:
    """The shortest perturbation that any attack finds within FAR: (sample,)."""
    attacks = (UniversalDirection(), GradientWalk(), BoundaryWalk(), PGD(radii=[0.3, 1.0, 3.0], steps=20, restarts=1))
    shortest = np.min([attack.on(question).upper for attack in attacks], axis=0)
    return np.where(shortest < FAR, shortest, np.inf)


def _record(found: dict[str, list[dict[str, Any]]], seconds: float) -> Record:
    oracle, fuzz = found["oracle"], found["fuzz"]
    differences = np.concatenate([chunk["differences"] for chunk in oracle])
    total = {name: sum(chunk[name] for chunk in fuzz) for name in fuzz[0] if name != "failed"}
    scip = np.concatenate([chunk["scip"] for chunk in oracle])
    failed = [row for chunk in (*oracle, *fuzz) for row in chunk["failed"]]
    zero = {"source": "campaign", "expected": 0.0, "tolerance": 0.0, "tolerance_reason": "a count"}
    disagreements = sum(len(chunk["failed"]) for chunk in oracle)
    claims = [
        Claim.exact(
            disagreements,
            f"The radius of {len(differences):,} networks is that of a brute force over all activation patterns.",
            how=f"points that differ by more than {AGREE:g} relative from Clarabel's answer over all patterns, or by "
            f"more than {SCIP_AGREES:g}, its own accuracy, from that of SCIP, which was asked for {len(scip)}",
            **zero,
        ),
        Claim.exact(total["crossed"], "No lower bound exceeds its upper bound.", how=_of(total), **zero),
        Claim.exact(total["witness"], "Every witness is fooled at the distance claimed.", how=_of(total), **zero),
        Claim.exact(total["unverified"], "Every certificate verifies.", how=_of(total), **zero),
        Claim.exact(total["beaten"], "No attack finds anything below a lower bound.", how=_of(total) + NEARER, **zero),
        Claim.exact(
            total["exact"] / total["points"],
            "Nearly every fuzzed point is closed exactly.",
            source="campaign",
            expected=1.0,
            tolerance=0.001,
            tolerance_reason="near-ties at distances of 1e-8, where double precision has no six digits left",
            relation="at least",
            how="share with status exact; the others keep an honest bracket",
        ),
    ]
    sizes = np.sort(np.maximum(differences, 1e-16))
    drawing = Drawing(
        "curves",
        {"x": "sizes", "y": "share"},
        caption="Relative difference between the exact search and the brute force over all activation patterns: share "
        "of networks up to each difference.",
        options={
            "log_x": True,
            "x_label": "relative difference",
            "y_label": "share of networks",
            "marks": [[AGREE, "allowed"]],
        },
    )
    return Record(
        name="exactness",
        title="Exact radii against brute force, SCIP and every attack",
        config={"kinds": list(KINDS), "networks": len(differences), "points": total["points"], "scip": len(scip)},
        seeds=tuple(range(len(oracle) + len(fuzz))),
        claims=tuple(claims),
        evidence=Evidence(
            Table.of({"sizes": sizes, "share": np.arange(1, len(sizes) + 1) / len(sizes), "scip": np.sort(scip)}),
            (drawing,),
            tuple(f"disagreement: {row}" for row in failed[:20]),
            Provenance(seconds=round(seconds, 1)),
        ),
    )


def _of(total: dict[str, int]) -> str:
    return f"points that fail, of {total['points']:,} on random and degenerate networks of 1 to 12 neurons"
