"""Docstrings cite sections of the theory that is shipped with the package."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("replica", "cli", "tests")


def test_cited_sections_exist():
    sections = set(re.findall(r"^## (\d+)\.", (ROOT / "replica" / "theory.md").read_text(), re.M))
    parts = set(re.findall(r"^## ([A-Z])\.", (ROOT / "replica" / "theory-dynamics.md").read_text(), re.M))
    cited, cited_parts = set(), set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            for found in re.findall(r"theory\.md\s+sections? ([\d, and]+)", text):
                cited |= set(re.findall(r"\d+", found))
            cited_parts |= set(re.findall(r"theory-dynamics\.md\s+(?:part )?([A-Z])\b", text))
    assert len(cited) > 5
    assert cited <= sections
    assert cited_parts
    assert cited_parts <= parts
