'''One file, one chapter: how the claims of the paper, and our own, are written.

A module in a folder here that says what it costs is a chapter, found by its file name (`featavg reproduce shrinking`).

    docstring   its first line is the title, shown by `featavg list` and in the report
    COST        ("quick", seconds) or ("long", seconds); long ones run when named or with --full
    NEEDS       names of the data sets it needs, () for none
    Config      a frozen dataclass of JSON values with `seeds: int = 5` and `first_seed: int = 0`: the run uses the
                seeds first_seed .. first_seed + seeds − 1
    COLUMNS     what `measure` returns: name -> how it is obtained, with the axes of arrays and, where it is a share, of
                how many independent points (`Quantity`)
    CLAIMS      what is expected of which column, why so near (`Expect`)
    DRAWINGS    which columns are drawn how (`Drawing`); columns are averaged over seeds, `band=0.95` adds intervals
    measure     measure(config, seed) -> dict: one seed's numbers; it draws nothing, prints nothing, and does not depend
                on the number of seeds, because rows that are there already are kept

Optional: CASES, {axis: cases or a function of the configuration}, when `measure(config, seed, case)` is run for each of
several cases; COORDS, the coordinates of other axes; `derive(config, table) -> Table` with more columns, as slopes or
ratios; `claims`, `drawings` and `notes`, functions of (config, table) that add to the tables of the same name;
`prepare(config, case, progress)`, whose answer `measure` is given as its case: a backbone, or what a pilot run chose.
Each may leave out arguments; `measure` may also ask for `progress`.

    """The radius shrinks as the square root of the number of clusters."""

    COST = ("quick", 4)
    NEEDS: tuple[str, ...] = ()
    CASES = {"clusters": lambda config: config.clusters}
    COLUMNS = {"radius": "median exact ℓ2 radius"}
    CLAIMS = [
        Expect("slope", "The radius falls as clusters^(-1/2).", "Theorem 1(3)", -0.5, tolerance=0.05,
               because="finite samples bend the line by up to 0.03"),
    ]
    DRAWINGS = [Drawing("scaling", {"x": "clusters", "y": "radius"}, caption="Median radius.", band=0.95)]

    @dataclass(frozen=True)
    class Config:
        clusters: tuple[int, ...] = (4, 8, 16)
        seeds: int = 5
        first_seed: int = 0

    def measure(config: Config, seed: int, case: int) -> dict[str, Any]:
        return {"radius": median_radius(case, seed)}

    def derive(config: Config, table: Table) -> Table:
        slopes = np.polyfit(np.log(config.clusters), np.log(table["radius"]), 1)[0]
        return table.plus({"slope": Column(slopes, ("seed",), "slope of log radius over log clusters")})

A claim is settled by its confidence interval at level 1 − 0.05/500 (`featavg.record.claim`): wide with 5 seeds
(± 7 standard deviations), ± 2.1 with 10. Cheap chapters take more seeds rather than wider tolerances.
'''

import lazy_loader

# Each name is imported at first use, because `featavg list` reads files alone and must not wait for NumPy.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
