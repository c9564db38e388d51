"""What every notebook must do, for the tests of the folders that own one."""

from pathlib import Path

import pytest


def code_cells(notebook: Path) -> list:
    """The code cells as committed; none may show an error or a stream."""
    nbformat = pytest.importorskip("nbformat")
    cells = [cell for cell in nbformat.read(notebook, 4).cells if cell.cell_type == "code"]
    assert [output for cell in cells for output in cell.outputs if output.output_type in ("error", "stream")] == []
    return cells


def run_from_clean(notebook: Path) -> None:
    """Execute all cells in a new kernel; an error in one is raised."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.read(notebook, 4)
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(notebook.parent)}}).execute()
