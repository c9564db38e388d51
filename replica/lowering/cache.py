"""Generated modules: real files in the user's cache, named by a hash of everything that enters them."""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from ..errors import CacheWarning, LoweringError, OutputError

_PACKAGE = __name__.split(".")[0]
# what decides the text of a generated module: the symbolic side, the leaves, the lowering itself
_SOURCES = ("models", "equations", "kernels", "lowering")
# threads that solve at the same time must not see a module that another is still executing
_LOADING = threading.RLock()
# names that `load` gives: a stem and twenty hexadecimal digits
_GENERATED = re.compile(r"\w+_[0-9a-f]{20}")


def cache_directory() -> Path:
    """Folder of the generated modules: REPLICA_CACHE_DIR, or the platform's user cache; not created here."""
    override = os.environ.get("REPLICA_CACHE_DIR")
    if override:
        return Path(override)
    if platform.system() == "Windows":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "replica" / "cache"
    if platform.system() == "Darwin":
        return Path.home() / "Library" / "Caches" / "replica"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "replica"


@functools.cache
def _usable_directory() -> Path:
    folder = cache_directory()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        temporary = Path(tempfile.mkdtemp(prefix="replica-cache-"))
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        warnings.warn(
            f"the kernel cache {str(folder)!r} cannot be used ({error.strerror}); kernels go to {str(temporary)!r}",
            CacheWarning,
            stacklevel=2,
        )
        return temporary
    return folder


@functools.cache
def _fingerprint() -> str:
    """Hash of the package's generating sources and of the library versions that shape the compiled code."""
    import numba
    import numpy

    digest = hashlib.sha256(f"{sys.version}|{numba.__version__}|{numpy.__version__}|{_sympy_version()}".encode())
    root = Path(__file__).parent.parent
    for part in _SOURCES:
        for path in sorted((root / part).rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.cache
def _sympy_version() -> str:
    # read from the file: importing sympy would cost a warm solve 0.3 s
    spec = importlib.util.find_spec("sympy")
    release = Path(spec.origin).parent / "release.py" if spec and spec.origin else None
    return release.read_text(encoding="utf-8") if release and release.exists() else ""


def load(stem: str, key: str, build: Callable[[], str], *, announce: bool = True) -> ModuleType:
    """Import the generated module of `key`, building and writing it first if it is not in the cache.

    Parameters
    ----------
    stem : str
        Readable start of the file name, an identifier.
    key : str
        Identifies the expressions; the sources and library versions are added here.
    build : callable
        Returns the module's text; called only when the file is absent.
    announce : bool
        Say on stderr that kernels will be compiled.

    Raises
    ------
    LoweringError
        If the file cannot be written or imported.
    """
    with _LOADING:
        return _load(stem, key, build, announce)


def _load(stem: str, key: str, build: Callable[[], str], announce: bool) -> ModuleType:
    digest = hashlib.sha256(f"{_fingerprint()}|{stem}|{key}".encode()).hexdigest()[:20]
    name = f"{stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    path = _usable_directory() / f"{name}.py"
    if not path.exists():
        text = build()  # refuses what cannot be lowered, before anything is said
        if announce:
            _announce(stem)
        _write(path, text)
    try:
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        # registered first: numba pickles functions by module name when it writes its cache
        sys.modules[name] = module
        spec.loader.exec_module(module)
    except Exception as error:
        sys.modules.pop(name, None)
        raise LoweringError(f"generated module {str(path)!r} cannot be imported: {error}") from error
    return module


def identifier(name: str) -> str:
    """The name with every character that a module's name cannot hold replaced."""
    return "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in name)


def is_own(ingredient: object) -> bool:
    """Whether its class is part of this package, so that its text is part of every module's hash."""
    return type(ingredient).__module__.startswith(f"{_PACKAGE}.")


def kernel_text(*names: str) -> str:
    """Text of the hand-written kernels `replica/kernels/NAME.py`, to be made part of a generated module."""
    root = Path(__file__).parent.parent / "kernels"
    return "\n".join((root / f"{name}.py").read_text(encoding="utf-8") for name in names)


def clear() -> tuple[int, int]:
    """Delete the generated modules and what numba compiled from them, and nothing else in the folder.

    Returns
    -------
    count, size : int
        Files deleted, and their bytes.

    Raises
    ------
    OutputError
        If the folder cannot be read, or a file cannot be deleted.
    """
    folder = cache_directory()
    try:
        os.listdir(folder)  # glob finds nothing in what is no folder
    except FileNotFoundError:
        return 0, 0
    except OSError as error:
        raise OutputError(f"the kernel cache {str(folder)!r} cannot be read: {error.strerror}") from error
    compiled = folder / "__pycache__"
    modules = [file for file in folder.glob("*.py") if _GENERATED.fullmatch(file.stem)]
    made = [file for file in compiled.glob("*") if _GENERATED.fullmatch(file.name.split(".")[0])]
    count = size = 0
    for file in [*modules, *made]:
        try:
            size += file.stat().st_size
            file.unlink()
        except FileNotFoundError:
            continue  # another process was faster
        except OSError as error:
            raise OutputError(f"{str(file)!r} cannot be deleted: {error.strerror}") from error
        count += 1
    if compiled.is_dir() and not any(compiled.iterdir()):
        compiled.rmdir()
    return count, size


def _announce(stem: str) -> None:
    print(f"replica: compiling kernels for {stem} (first use on this machine) ...", file=sys.stderr, flush=True)


def _write(path: Path, text: str) -> None:
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        # numba stamps its cache with the file's mtime: replace only once, so that racing processes agree
        if path.exists():
            os.unlink(temporary)
        else:
            os.replace(temporary, path)
    except OSError as error:
        raise LoweringError(f"the kernel cache {str(path.parent)!r} cannot be written: {error.strerror}") from error
