"""Compare the files of a built wheel with the tree: nothing missing, nothing extra."""

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
HOMES = {"replica": ROOT / "replica", "replica_cli": ROOT / "cli"}


def main(wheel: str) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    tree = {
        f"{package}/{path.relative_to(home).as_posix()}"
        for package, home in HOMES.items()
        for path in home.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    if packed != tree:
        sys.exit(f"missing from the wheel: {sorted(tree - packed)}; only in the wheel: {sorted(packed - tree)}")
    print(f"the wheel holds the tree: {len(packed)} files")


main(sys.argv[1])
