"""Tutorials as notebooks: the Python and shell blocks of a page are run when the site is built.

The page stays plain Markdown that can be read anywhere. On the site, what a cell really printed or
drew takes the place of the text or picture below it in the page; the tests compare the texts.
"""

import re
from pathlib import Path

FENCE = re.compile(
    r"(?:<!-- not run: (?P<why>[^>]*?) -->\n+)?"
    r"^(?P<fence>```+)(?P<language>\w*)\n(?P<code>.*?)^(?P=fence)\n(?:\n*```text\n(?P<shown>.*?)^```\n)?"
    r"(?:\n*!\[[^\]]*\]\([^)]*\)\n)?",
    re.S | re.M,
)
NAMED = re.compile(r"# (\w+\.py)\n")  # a block that is a file
HEAD = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n  display_name: Python 3\n---\n"
PAGES = (
    "tutorials/first-program",
    "tutorials/reading-a-trace",
    "why-addition-carries",
    "tutorials/minimal-version",
    "tutorials/take-an-lstm-apart",
    "tutorials/your-own-model",
    "tutorials/reproduce-a-figure",
)


def as_notebook(page: str, text: str) -> str:
    """The page as MyST-NB reads a notebook, with a link to the executed one below its title."""
    name = Path(page).name
    link = f"{{nb-download}}`This page as a notebook <{name}.ipynb>`\n"
    title, _, rest = text.partition("\n\n")
    return f"{HEAD}\n{title}\n\n{link}\n{FENCE.sub(_cell, rest)}"


def _cell(block: re.Match[str]) -> str:
    """A cell for what a reader would run; any other block as it was."""
    first = {"python": "", "bash": "%%bash\n"}.get(block["language"])
    if first is None or block["why"] is not None:
        return block[0]
    if file := NAMED.match(block["code"]):
        first = f"%%writefile {file[1]}\n"
    return f"```{{code-cell}} ipython3\n{first}{block['code']}```\n"


def read_source(app, page: str, source: list[str]) -> None:
    """Sphinx asks this of every page before it parses it."""
    if page in PAGES:
        source[0] = as_notebook(page, source[0])
