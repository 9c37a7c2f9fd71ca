"""The page of claims says of each what the pages of results say."""

import re

from docs.pages.filling import DOCS


def rows(text: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]


def test_verdicts_on_scaffolds_are_those_of_the_results():
    results = rows((DOCS / "results" / "composition.md").read_text())
    wanted = {row[0]: row[1:3] for row in reversed(results)}  # claims come before other tables
    found = [
        row for row in rows((DOCS / "results" / "claims.md").read_text())
        if re.fullmatch(r"\d[a-d]?", row[0])
    ]  # fmt: skip
    assert len(found) == 18
    for claim, statement, verdict, *_ in found:
        assert [statement, verdict.strip("*")] == wanted[claim]
