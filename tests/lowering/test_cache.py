"""Generated kernels on disk: made once, found again, never stale, and harmless where they cannot be kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from replica.errors import CacheWarning, LoweringError
from replica.lowering import cache

SOLVE = """
import sys
from replica import Problem, SpikedSLR, solve
solve(Problem(data=SpikedSLR(2.0), alpha=2.0), rtol=1e-2, threads=1)
print(*(name for name in ("sympy", "scipy.stats", "pandas") if name in sys.modules))
"""


def python(code, folder, **environment):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "REPLICA_CACHE_DIR": str(folder), **environment},
    )


def contents(folder):
    return {path: path.stat().st_mtime_ns for path in Path(folder).rglob("*") if path.is_file()}


def test_second_process_neither_derives_nor_compiles(tmp_path):
    folder = tmp_path / "cache"
    first = python(SOLVE, folder)
    assert first.returncode == 0, first.stderr
    assert first.stderr.count("compiling kernels for pair_spiked_slr") == 1
    assert "sympy" in first.stdout
    made = contents(folder)
    assert {path.suffix for path in made} >= {".py", ".nbi", ".nbc"}
    second = python(SOLVE, folder)
    assert second.returncode == 0
    assert second.stderr == ""
    # warm: no sympy, no scipy.stats, no pandas
    assert second.stdout == "\n"
    assert contents(folder) == made


def test_importing_the_package_is_light():
    code = "import sys, replica; print(*sorted({'numba', 'sympy', 'scipy', 'numpy', 'pandas'} & set(sys.modules)))"
    done = python(code, "unused")
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own, in this process."""
    monkeypatch.setenv("REPLICA_CACHE_DIR", str(tmp_path / "kernels"))
    _forget()
    yield tmp_path / "kernels"
    _forget()
    for name in [name for name in sys.modules if name.startswith("sample_")]:
        del sys.modules[name]


def _forget():
    cache._usable_directory.cache_clear()
    cache._fingerprint.cache_clear()


def test_built_once(folder):
    calls = []

    def build():
        calls.append(1)
        return "VALUE = 3\n"

    assert cache.load("sample", "one", build, announce=False).VALUE == 3
    assert cache.load("sample", "one", build, announce=False).VALUE == 3
    assert len(calls) == 1
    (path,) = folder.glob("*.py")
    del sys.modules[path.stem]
    assert cache.load("sample", "one", build, announce=False).VALUE == 3
    assert len(calls) == 1


def test_another_key_is_another_file(folder):
    one = cache.load("sample", "one", lambda: "VALUE = 1\n", announce=False)
    two = cache.load("sample", "two", lambda: "VALUE = 2\n", announce=False)
    assert (one.VALUE, two.VALUE) == (1, 2)
    assert len(list(folder.glob("*.py"))) == 2


@pytest.mark.parametrize("part", ["models", "equations", "kernels", "lowering"])
def test_a_changed_source_gets_another_name(folder, monkeypatch, part):
    """Any change of what decides the generated text: a leaf, an expression, the printer."""
    before = cache._fingerprint()
    real = Path.read_bytes

    def changed(path):
        text = real(path)
        return text + b"\n# changed\n" if path.parent.name == part and path.name != "__init__.py" else text

    monkeypatch.setattr(Path, "read_bytes", changed)
    _forget()
    assert cache._fingerprint() != before


@pytest.mark.parametrize("library", ["numba", "numpy"])
def test_another_library_version_gets_another_name(folder, monkeypatch, library):
    before = cache._fingerprint()
    monkeypatch.setattr(f"{library}.__version__", "99.0")
    _forget()
    assert cache._fingerprint() != before


def test_unusable_folder_warns_once_and_goes_on(folder):
    folder.write_text("a file where the folder should be")
    with pytest.warns(CacheWarning, match="cannot be used"):
        module = cache.load("sample", "elsewhere", lambda: "VALUE = 7\n", announce=False)
    assert module.VALUE == 7
    # once: warnings are errors here
    assert cache.load("sample", "again", lambda: "VALUE = 8\n", announce=False).VALUE == 8
    assert Path(module.__file__).parent != folder
    assert folder.read_text() == "a file where the folder should be"


def test_the_folder_that_stands_in_is_gone_at_the_end(tmp_path):
    unusable = tmp_path / "file"
    unusable.write_text("")
    code = "from replica.lowering import cache; print(cache._usable_directory())"
    environment = os.environ | {"REPLICA_CACHE_DIR": str(unusable), "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).parent == tmp_path
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_broken_text_is_an_error_of_ours(folder):
    with pytest.raises(LoweringError, match="cannot be imported"):
        cache.load("sample", "broken", lambda: "def f(:\n", announce=False)
    assert not [name for name in sys.modules if name.startswith("sample_")]
