"""What every notebook must do: be committed with its outputs, and run in a new kernel."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
# cells that show nothing: one that prepares, here the first, or up to two
FIRST_IS_SILENT = ("heads_specialisation", "theory_and_experiment", "value_softmax_flow")


def code_cells(name: str) -> list:
    """The code cells as committed; none may show an error or a stream."""
    nbformat = pytest.importorskip("nbformat")
    cells = [cell for cell in nbformat.read(FOLDER / f"{name}.ipynb", 4).cells if cell.cell_type == "code"]
    assert [output for cell in cells for output in cell.outputs if output.output_type in ("error", "stream")] == []
    return cells


@pytest.mark.parametrize("name", NAMES)
def test_is_committed_with_its_outputs(name):
    cells = code_cells(name)
    if name in FIRST_IS_SILENT:
        assert all(cell.outputs for cell in cells[1:])
    else:
        assert sum(bool(cell.outputs) for cell in cells) >= len(cells) - 2


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_runs_from_clean(name):
    """All cells in a new kernel; an error in one is raised."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.read(FOLDER / f"{name}.ipynb", 4)
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(FOLDER)}}).execute()
