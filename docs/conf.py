"""The documentation site: `make docs` writes docs/_build, offline, and every warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import latex2mathml.converter

import featavg

sys.path.insert(0, str(Path(__file__).parent))
from pages import write_pages

project, author = "featavg", "The featavg authors"
version = release = featavg.__version__
copyright = author
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_nb"]
html_theme, html_title = "furo", f"featavg {version}"
html_static_path, html_css_files = ["static"], ["site.css"]
exclude_patterns = ["_build", "images/*.py", "gallery"]
default_role = "code"
nb_execution_mode, nb_execution_raise_on_error, nb_execution_timeout = "force", True, 300
nb_execution_in_temp = True
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline", "deflist", "dollarmath"]
myst_update_mathjax = False
html_math_renderer = "mathml"
autodoc_default_options = {"members": True}
autodoc_typehints = "none"  # the signature says them
autodoc_member_order = "bysource"
suppress_warnings = ["myst.xref_missing"]  # links of the guides to files of the repository outside the site


def as_text(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with formulas: bars, stars and final underscores mean themselves."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[number] = _outside_code(line)


def _outside_code(line: str) -> str:
    pieces = line.split("`")
    for place in range(0, len(pieces), 2):
        for sign in ("|", "*", "_ ", "_,", "_)", "_/"):
            pieces[place] = pieces[place].replace(sign, "\\" + sign)
    return "`".join(pieces)


def no_type_first(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """What stands before a colon in the first line of a property is no type here, which napoleon would take it for."""
    if what in ("property", "attribute", "data"):
        lines.insert(0, "")


def is_foreign(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to its estimators for routing metadata."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def mathml(inline: bool) -> Any:
    """Formulas as MathML, which browsers draw by themselves: no script, no font, nothing asked of the network."""

    def visit(writer: Any, node: Any) -> None:
        from docutils.nodes import SkipNode

        display = "inline" if inline else "block"
        writer.body.append(latex2mathml.converter.convert(node.astext(), display=display))
        raise SkipNode

    return visit, None


def for_everybody(app: Any, error: Exception | None) -> None:
    """Say of headings which they are, and let the keyboard into what scrolls: the theme leaves out both."""
    for page in Path(app.outdir).rglob("*.html") if error is None else ():
        text = page.read_text(encoding="utf-8").replace('role="heading">', 'role="heading" aria-level="2">')
        page.write_text(text.replace("<pre>", '<pre tabindex="0">'), encoding="utf-8")


def setup(app: Any) -> None:
    """Tell Sphinx."""
    write_pages()
    app.add_html_math_renderer("mathml", mathml(inline=True), mathml(inline=False))
    app.connect("build-finished", for_everybody)
    app.connect("autodoc-skip-member", is_foreign)
    app.connect("autodoc-process-docstring", no_type_first, priority=100)
    app.connect("autodoc-process-docstring", as_text, priority=900)
