"""Damaged files for every reader: whatever the bytes, the end is the content or one sentence.

A case is a whole file that was mutated: bytes of it, or the members of its archive behind valid checksums, or the text
of a header. Case number n of a reader is the same on every machine.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from campaign.kept import kept_rows
from campaign.whole_files import READERS
from featavg.errors import InputError
from featavg.record import Claim, Drawing, Evidence, Provenance, Record, Table
from featavg.sweep import Specification

LONGEST = 600  # letters of a sentence
CASES = 20_000  # of each reader
SHARE = 2000  # cases that are kept together
MOST_MEMORY = 512  # MB beyond the whole files; a case that asks for more gets a MemoryError
IN_MEMORY = "/dev/shm"  # where there is such a folder, a case need not wait for a disk
NUMBERS = (
    b"-1",
    b"0",
    b"99999999999",
    b"1e999",
    b"nan",
    b"None",
    b"True",
    b"'O'",
    b"'|V8'",
    b"(" * 60,
    b"'<U99999999'",
)


@dataclass(frozen=True)
class Tally:
    """What became of the cases of one reader."""

    read: int  # as if nothing had happened, or as another whole file
    refused: int  # in one sentence
    wrong: dict[str, int]  # type of error, or what was wrong with the sentence -> cases
    examples: tuple[str, ...]  # one for each
    memory: float  # MB beyond what reading the whole files took

    @classmethod
    def read_from(cls, row: Mapping[str, Any]) -> Tally:
        """As `share_of` wrote it."""
        return cls(**json.loads(row["tally"]))


def run(folder: Path, workers: int, cases: int = CASES) -> Record:
    """Fuzz every reader and sum up; shares that the folder holds are not run again."""
    share = min(SHARE, cases)
    axes = {"reader": list(READERS)}
    spec = Specification("campaign.fuzz:share_of", base={"cases": share}, axes=axes, seeds=-(-cases // share))
    rows = kept_rows(spec, folder, workers)
    tallies = {name: summed([Tally.read_from(row) for row in rows if row["reader"] == name]) for name in READERS}
    return _record(tallies, spec.seeds * share, sum(row["cpu"] for row in rows))


def share_of(reader: str, cases: int, seed: int) -> dict[str, Any]:
    """Share number `seed` of the cases of a reader, as it is kept."""
    began = time.process_time()
    tally = fuzz(reader, cases, seed * cases)
    return {"tally": json.dumps(asdict(tally)), "cpu": time.process_time() - began}


def summed(tallies: Sequence[Tally]) -> Tally:
    """All shares of a reader as one."""
    wrong = sum((Counter(tally.wrong) for tally in tallies), Counter[str]())
    examples = tuple(example for tally in tallies for example in tally.examples)[: len(wrong)]
    read, refused = (sum(getattr(tally, name) for tally in tallies) for name in ("read", "refused"))
    return Tally(read, refused, dict(wrong), examples, max(tally.memory for tally in tallies))


def fuzz(name: str, cases: int, first: int = 0) -> Tally:
    """Read `cases` mutants of the whole files of a reader, from number `first` on."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    with TemporaryDirectory(dir=IN_MEMORY if Path(IN_MEMORY).is_dir() else None) as place:
        whole, read = READERS[name](Path(place))
        for path in whole:
            read(path)
        before = _memory()
        with _capped():
            for case in range(first, first + cases):
                path = sorted(whole)[case % len(whole)]
                rng = np.random.default_rng([case, len(name)])
                path.write_bytes(mutated(whole[path], rng))
                end = _end(read, path)
                path.write_bytes(whole[path])
                counts[end] += 1
                examples.setdefault(end, f"{name}, case {case}: {end}")
    wrong = {end: count for end, count in counts.items() if end not in ("read", "refused")}
    return Tally(counts["read"], counts["refused"], wrong, tuple(examples[end] for end in wrong), _memory() - before)


@contextlib.contextmanager
def _capped() -> Iterator[None]:
    """No more memory than the cap beyond what is taken now, where a system can say how much that is."""
    said = Path("/proc/self/statm")
    if not said.exists():
        yield
        return
    taken = int(said.read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_MEMORY * 2**20, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _end(read: Callable[[Path], object], path: Path) -> str:
    try:
        read(path)
    except InputError as error:
        sentence = str(error)
        return (
            "refused"
            if sentence and "\n" not in sentence and len(sentence) < 2000
            else f"no sentence: {sentence[:200]!r}"
        )
    except BaseException as error:  # whatever else comes is what is looked for
        return type(error).__name__
    return "read"


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """One mutant of a whole file.

    >>> mutated(b"abc", np.random.default_rng(0)) == mutated(b"abc", np.random.default_rng(0))
    True
    """
    if zipfile.is_zipfile(io.BytesIO(data)) and rng.random() < 0.6:
        return _rezipped(data, rng)
    for _ in range(int(rng.integers(1, 4))):
        data = MUTATIONS[int(rng.integers(len(MUTATIONS)))](data, rng)
    return data


def _rezipped(data: bytes, rng: np.random.Generator) -> bytes:
    """The same archive with a mutated member behind a valid checksum."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = sorted(members)[int(rng.integers(len(members)))]
    if rng.random() < 0.05:
        del members[chosen]
    else:
        members[chosen] = MUTATIONS[int(rng.integers(len(MUTATIONS)))](members[chosen], rng)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _flip(data: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(data)
    for place in rng.integers(max(len(changed), 1), size=int(rng.integers(1, 9))):
        changed[place : place + 1] = bytes([int(rng.integers(256))])
    return bytes(changed)


def _flip_early(data: bytes, rng: np.random.Generator) -> bytes:
    """Where headers are."""
    return _flip(data[:128], rng) + data[128:]


def _cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def _leave_out(data: bytes, rng: np.random.Generator) -> bytes:
    start, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 33))
    return data[:start] + data[start + length :]


def _repeat(data: bytes, rng: np.random.Generator) -> bytes:
    start, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 65))
    return data[: start + length] + data[start:]


def _insert(data: bytes, rng: np.random.Generator) -> bytes:
    place = int(rng.integers(len(data) + 1))
    return data[:place] + rng.bytes(int(rng.integers(1, 17))) + data[place:]


def _renumber(data: bytes, rng: np.random.Generator) -> bytes:
    """Another value where a number or a word of text stands."""
    places = [place for place, byte in enumerate(data[:4000]) if byte in b"0123456789'\""]
    if not places:
        return _insert(data, rng)
    place = places[int(rng.integers(len(places)))]
    return data[:place] + NUMBERS[int(rng.integers(len(NUMBERS)))] + data[place + int(rng.integers(3)) :]


MUTATIONS = (_flip, _flip_early, _cut, _leave_out, _repeat, _insert, _renumber)


def _memory() -> float:
    """The most memory this process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _claims(tallies: dict[str, Tally], cases: int) -> Iterator[Claim]:
    for name, tally in tallies.items():
        yield Claim.exact(
            sum(tally.wrong.values()),
            f"Every damaged file of the reader {name} is read, or refused in one sentence.",
            source="campaign",
            expected=0,
            tolerance=0,
            tolerance_reason="a reader must survive whatever it is given",
            how=f"mutants of {cases:,} that ended otherwise; {tally.read:,} were read, {tally.refused:,} refused",
        )
    yield Claim.exact(
        max(tally.memory for tally in tallies.values()),
        "No damaged file takes much memory.",
        source="campaign",
        expected=MOST_MEMORY,
        tolerance=0,
        tolerance_reason="the whole files take a few MB, decoders and libraries the rest",
        relation="at most",
        how="largest resident size of the process after the cases of a reader, beyond that after its whole files",
        unit="MB",
    )


def _record(tallies: dict[str, Tally], cases: int, cpu: float) -> Record:
    notes = tuple(example for tally in tallies.values() for example in tally.examples)
    values = {"refused": [tally.refused / cases for tally in tallies.values()]}
    same = {"measured": "refused", "lower": "refused", "upper": "refused"}
    options = {"labels": list(tallies), "x_label": "share of mutants that are refused"}
    drawing = Drawing("dots", same, caption="Share of damaged files that each reader refuses.", options=options)
    return Record(
        name="fuzz",
        title="Damaged files of every kind end in their content or in one sentence",
        config=json.loads(json.dumps({"cases": cases, "readers": list(tallies)})),
        seeds=(0,),
        claims=tuple(_claims(tallies, cases)),
        evidence=Evidence(Table.of(values), (drawing,), notes, Provenance(seconds=round(cpu, 1))),
    )
