'''One file, one claim: how an experiment is written.

A module in this folder is an experiment, found by its file name (`featavg reproduce shrinking`); files that begin with
an underscore are shared parts, not experiments. It has

    docstring   its first line is the title, shown by `featavg list` and in the report
    COST        ("quick", seconds) or ("long", seconds); long ones run when named or with --full.
                A long part of a quick claim is a file of its own.
    NEEDS       names of the data sets it needs, () for none
    Config      a frozen dataclass of JSON values, with `seeds: int = 5`: the run uses seeds 0 .. seeds − 1,
                or first_seed .. first_seed + seeds − 1 if it has `first_seed: int = 0`, to repeat a claim on fresh ones
    run         run(config, progress) -> Record: computes, draws nothing, prints nothing

and nothing heavy is imported before `run` unless every experiment needs it (torch, say, is imported inside `run`).

    """The radius shrinks as the square root of the number of clusters."""

    COST = ("quick", 4)
    NEEDS: tuple[str, ...] = ()

    @dataclass(frozen=True)
    class Config:
        clusters: tuple[int, ...] = (4, 8, 16)
        seeds: int = 5

    def run(config: Config, progress: Progress) -> Record:
        radii = np.empty((config.seeds, len(config.clusters)))
        for seed in range(config.seeds):
            radii[seed] = [median_radius(k, seed) for k in config.clusters]
            progress((seed + 1) / config.seeds, f"seed {seed}")
        slopes = np.polyfit(np.log(config.clusters), np.log(radii.T), 1)[0]            # (seed,)
        slope = Claim.over_seeds(slopes, "The radius falls as clusters^(-1/2).", source="Theorem 1(3)", expected=-0.5,
            tolerance=0.05, tolerance_reason="finite samples bend the line by up to 0.03", how="slope of log radius")
        low, high = np.transpose([interval(column, 0.95) for column in radii.T])
        drawing = Drawing("scaling", {"x": "clusters", "y": "radius", "lower": "low", "upper": "high"},
            caption="Median radius over clusters, with 95 % intervals.", options={"x_label": "clusters"})
        arrays = {"clusters": config.clusters, "radius": radii.mean(axis=0), "low": low, "high": high, "all": radii}
        return record_of(config, claims=[slope], arrays=arrays, drawings=[drawing])

A claim is settled by its confidence interval at level 1 − 0.05/250 (`featavg.record.claim`): wide with 5 seeds
(± 5.5 standard deviations), ± 1.8 with 10. Cheap experiments take more seeds rather than wider tolerances.
'''

from featavg.experiments._registry import Experiment as Experiment
from featavg.experiments._registry import Progress as Progress
from featavg.experiments._registry import Registry as Registry
from featavg.experiments._registry import record_of as record_of
from featavg.experiments._reproduce import Outcome as Outcome
from featavg.experiments._reproduce import Watch as Watch
from featavg.experiments._reproduce import reproduce as reproduce
