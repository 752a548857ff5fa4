"""Our docstrings, made ready for numpydoc.

We write ``name : a sentence about it``, since the type stands in the signature, and a return value as plain sentences.
numpydoc takes what stands there for a type, which ends with its line; this moves the sentences to where they belong.
And we write |x| for absolute values, which reStructuredText takes for something to be substituted, and
(channels, *grid) for shapes, where it sees emphasis begin.
"""

import re

from sphinx.application import Sphinx

SENTENCES_OF_NAMES = ("Parameters", "Other Parameters", "Attributes")
PLAIN_SENTENCES = ("Returns", "Yields")
STARS = re.compile(r"(?<=[ (])\*(?=\w+[),\]])")


def prepare(lines: list[str]) -> list[str]:
    """Return the lines of a docstring in numpydoc's form."""
    prepared, section = [], ""
    for place, line in enumerate(lines):
        underline = lines[place + 1] if place + 1 < len(lines) else ""
        if re.fullmatch("-{3,}", underline):
            section = line.strip()
        name, colon, sentence = line.partition(" : ")
        if section in SENTENCES_OF_NAMES and colon and not line.startswith(" "):
            prepared += [name, f"    {sentence}"]
        elif section in PLAIN_SENTENCES and _continues(lines, place):
            prepared[-1] += f" {line}"
        else:
            prepared.append(line)
    return prepared


def keep_bars(lines: list[str]) -> list[str]:
    """Return the lines with bars of absolute values and stars of shapes escaped, but for code, formulas and tables."""
    kept, formula = [], None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if formula is not None and line.strip() and indent <= formula:
            formula = None
        if line.lstrip().startswith(".. math::"):
            formula = indent
        if formula is not None or line.lstrip().startswith((">>>", "...", "|")):
            kept.append(line)
        else:
            parts = line.split("``")  # every other one is code
            kept.append("``".join(p if k % 2 else STARS.sub(r"\*", p.replace("|", r"\|")) for k, p in enumerate(parts)))
    return kept


def _continues(lines: list[str], place: int) -> bool:
    """Whether this line and the one above it are text of the same paragraph."""
    return all(re.match(r"[^-\s]", line) for line in lines[place - 1 : place + 1])


def _prepare_in_place(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    lines[:] = keep_bars(prepare(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Prepare every docstring before numpydoc, which listens at priority 500."""
    app.connect("autodoc-process-docstring", _prepare_in_place, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
