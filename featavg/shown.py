"""How results show themselves: a short repr, a summary in words, a table in notebooks and in pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from featavg.errors import InputError

Rows = Sequence[Sequence[str]]


def text_table(rows: Rows) -> str:
    """Rows of cells as lines with aligned columns.

    >>> print(text_table([("a", "1"), ("long", "2")]))
    a     1
    long  2
    """
    wide = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    lines = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, wide, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def html_table(said: str, rows: Rows) -> str:
    """A sentence and rows of cells as HTML, everything escaped.

    >>> html_table("a < b", [("x", "1")])
    '<p>a &lt; b</p><table><tr><th>x</th><td>1</td></tr></table>'
    """
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) for row in rows)
    body = "".join(f"<tr><th>{escape(row[0])}</th>{rest}</tr>" for row, rest in zip(rows, cells, strict=True))
    return f"<p>{escape(said)}</p><table>{body}</table>"


def frame(columns: Mapping[str, Any] | Sequence[Mapping[str, Any]], index: Any = None) -> Any:
    """A pandas table of columns by name, or of rows, or one sentence that says how to get pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise InputError("to_frame needs pandas: pip install pandas") from None
    return pd.DataFrame(columns) if index is None else pd.DataFrame(columns, index=index)
