"""House rules that the source must keep."""

import ast
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.nojit

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "replica").rglob("*.py"), *(ROOT / "cli").rglob("*.py")])
# jitted text: scalar arithmetic that becomes part of generated modules
KERNELS = [path for path in SOURCES if path.parent.name == "kernels" or path.name == "kernels.py"]


def name_of(path):
    return str(path.relative_to(ROOT))


def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def test_there_is_something_to_check():
    assert len(SOURCES) > 50
    assert {"contact.py", "leaves.py"} <= {path.name for path in KERNELS}


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_fastmath_and_no_parallel_kernels(path):
    """fastmath breaks isnan; parallel sums depend on the number of threads. Also in text that is generated."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.keyword):
            assert node.arg not in ("fastmath", "parallel"), node.value.lineno
        if isinstance(node, ast.Name | ast.Attribute):
            assert getattr(node, "id", getattr(node, "attr", "")) != "prange", node.lineno
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "@njit" in node.value:
            assert "fastmath" not in node.value
            assert "parallel" not in node.value


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_nothing_is_evaluated_as_code(path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("eval", "exec", "compile"), node.lineno


def public_definitions(tree):
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_public_things_are_documented(path):
    tree = tree_of(path)
    assert ast.get_docstring(tree) or path.name == "_version.py"
    if path.name == "leaves.py":  # each named after the documented sympy function that it evaluates
        return
    for node in public_definitions(tree):
        assert ast.get_docstring(node), f"{node.name} has no docstring"


@pytest.mark.parametrize("path", [path for path in SOURCES if path not in KERNELS], ids=name_of)
def test_public_functions_are_typed(path):
    functions = [node for node in public_definitions(tree_of(path)) if isinstance(node, ast.FunctionDef)]
    for node in functions:
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        untyped = [argument.arg for argument in arguments if argument.annotation is None]
        assert not untyped, f"{node.name}: {untyped}"
        assert node.returns is not None, f"{node.name} does not say what it returns"


def test_the_package_list_is_the_tree():
    """A folder left out of the list would be missing from the wheel."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    tree = [".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "replica").rglob("__init__.py")]
    assert sorted(listed) == sorted([*tree, "replica_cli"])
    loose = {path.parent for path in SOURCES if not (path.parent / "__init__.py").exists()}
    assert not loose


def test_import_layers():
    pytest.importorskip("importlinter")
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == EXIT_STATUS_SUCCESS
