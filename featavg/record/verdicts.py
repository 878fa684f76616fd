"""All verdicts as a table to take away: CSV, Markdown, LaTeX, or rows for pandas."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any
from unicodedata import lookup

from featavg.errors import InputError
from featavg.record.record import Record
from featavg.record.words import expected_text, interval_text, number, verdict_text

HEAD = ("chapter", "claim", "expected", "measured", "interval", "verdict")
_SPELT = {"lambda": "lamda"}  # as Unicode has it
_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega"
_SIGNS = {
    "≈": "approx", "≥": "geq", "≤": "leq", "≠": "neq", "∞": "infty", "√": "surd", "×": "times", "±": "pm", "·": "cdot",
    "ℓ": "ell", "→": "to", "∇": "nabla", "∂": "partial", "‖": "|", "⟨": "langle", "⟩": "rangle", "∈": "in", "∑": "sum",
    "Γ": "Gamma", "Δ": "Delta", "Λ": "Lambda", "Σ": "Sigma", "Φ": "Phi", "Ω": "Omega", "½": "tfrac12",
}  # fmt: skip
_MARKS = {"\u0303": "tilde", "\u0304": "bar"}  # that combine with the letter before them
_LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "<": "$<$", ">": "$>$"}
    | {"…": r"\dots{}", "–": "--", "−": "$-$", "⁻": "$^{-}$", "ᵀ": r"$^\top$"}
    | {sign: f"$\\{name}$" for sign, name in _SIGNS.items()}
    | {lookup(f"GREEK SMALL LETTER {_SPELT.get(name, name)}"): f"$\\{name}$" for name in _GREEK.split()}
    | {sign: f"$^{{{digit}}}$" for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
    | {sign: f"$_{{{digit}}}$" for digit, sign in enumerate("₀₁₂₃₄₅₆₇₈₉")}
)


def verdict_rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    """One row per claim, in numbers; an interval that reaches to infinity ends there.

    >>> from featavg.record import Claim
    >>> claim = Claim.exact(2.0, "Two is two.", source="Peano", expected=2, tolerance=0, tolerance_reason="exact")
    >>> verdict_rows([Record("two", "Two", config={}, seeds=(0,), claims=(claim,))])[0]["verdict"]
    'holds'
    """
    return [
        {
            "chapter": record.name,
            "claim": claim.text,
            "source": claim.source,
            "relation": claim.relation,
            "expected": claim.expected,
            "tolerance": claim.tolerance,
            "measured": claim.measured,
            "low": claim.interval[0],
            "high": claim.interval[1],
            "unit": claim.unit,
            "published": math.nan if claim.published is None else claim.published,
            "verdict": claim.verdict,
            "check": claim.check,
        }
        for record in records
        for claim in record.claims
    ]


def verdict_table(records: Sequence[Record], ending: str) -> str:
    """The verdicts as the text of a file: `.csv` with all digits, `.md` or `.tex` to read.

    >>> verdict_table([], ".md").splitlines()[0]
    '| chapter | claim | expected | measured | interval | verdict |'
    """
    makers = {".csv": _as_csv, ".md": _as_markdown, ".tex": _as_latex}
    if ending not in makers:
        raise InputError(f"verdicts are written as .csv, .md or .tex, got {ending or 'no ending'}")
    return makers[ending](records)


def _as_csv(records: Sequence[Record]) -> str:
    rows, text = verdict_rows(records), io.StringIO()
    names = list(rows[0]) if rows else list(HEAD)
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _as_markdown(records: Sequence[Record]) -> str:
    lines = [HEAD, ("---",) * len(HEAD), *(map(_in_markdown, row) for row in _worded(records))]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _in_latex(cell: str) -> str:
    r"""A cell in plain letters; a letter under a tilde or a bar takes it along into mathematics.

    >>> print(_in_latex("γ̃ <= 1"))
    $\tilde{\gamma}$ $<$= 1
    """
    text = cell.translate(_LATEX)
    for mark, name in _MARKS.items():
        text = re.sub(r"\$(\\\w+)\$" + mark, rf"$\\{name}{{\1}}$", text)
    return text


def _as_latex(records: Sequence[Record]) -> str:
    """A longtable of the package booktabs; greek letters and signs are written in mathematics."""
    body = "".join(" & ".join(map(_in_latex, row)) + " \\\\\n" for row in _worded(records))
    head = " & ".join(HEAD) + " \\\\\n"
    return (
        "% needs \\usepackage{booktabs,longtable}\n\\begin{longtable}{lp{0.4\\linewidth}llll}\n"
        f"\\toprule\n{head}\\midrule\n\\endhead\n{body}\\bottomrule\n\\end{{longtable}}\n"
    )


def _worded(records: Sequence[Record]) -> list[tuple[str, ...]]:
    words = expected_text, lambda claim: number(claim.measured), interval_text, verdict_text
    return [(record.name, claim.text, *(of(claim) for of in words)) for record in records for claim in record.claims]


def _in_markdown(cell: str) -> str:
    """A cell as text: no bar ends it and no angle bracket begins HTML."""
    return cell.replace("&", "&amp;").replace("<", "&lt;").replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*")
