"""`replica cache`: the folder it names, and what it deletes."""

from replica.lowering import cache


def test_path_is_where_modules_are_written(run, tmp_path, monkeypatch):
    monkeypatch.setenv("REPLICA_CACHE_DIR", str(tmp_path / "kernels"))
    code, out, _ = run("cache", "path")
    assert (code, out) == (0, f"{tmp_path / 'kernels'}\n")


def test_clear_deletes_generated_modules_and_nothing_else(run, tmp_path, monkeypatch):
    monkeypatch.setenv("REPLICA_CACHE_DIR", str(tmp_path))
    cache._usable_directory.cache_clear()
    module = cache.load("stem", "key", lambda: "ANSWER = 42\n", announce=False)
    assert module.ANSWER == 42
    compiled = tmp_path / "__pycache__"
    compiled.mkdir(exist_ok=True)
    (compiled / f"{module.__name__}.block-12.py311.nbi").write_text("index")
    (tmp_path / "mine.py").write_text("KEEP = True\n")
    code, out, _ = run("cache", "clear")
    assert code == 0
    assert out.startswith("deleted ")
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert left == ["mine.py"]
    assert run("cache", "clear")[1].startswith("deleted 0 files")
    cache._usable_directory.cache_clear()


def test_clear_of_a_folder_that_does_not_exist(run, tmp_path, monkeypatch):
    monkeypatch.setenv("REPLICA_CACHE_DIR", str(tmp_path / "absent"))
    code, out, _ = run("cache", "clear")
    assert code == 0
    assert "deleted 0 files" in out
    assert not (tmp_path / "absent").exists()


def test_clear_of_what_is_no_folder(run, tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("precious")
    for place in (file, file / "kernels"):
        monkeypatch.setenv("REPLICA_CACHE_DIR", str(place))
        code, out, err = run("cache", "clear")
        assert (code, out) == (2, "")
        assert err == f"error: the kernel cache {str(place)!r} cannot be read: Not a directory\n"
    assert file.read_text() == "precious"


def test_solve_takes_the_word_optimal(run):
    arguments = ["--model", "spiked-slr", "--alpha", "2", "-L", "1", "--noise", "0.5", "--estimator", "erm"]
    code, out, _ = run("solve", *arguments, "--reg", "optimal", "--format", "csv")
    assert code == 0
    header, row = (line.split(",") for line in out.strip().splitlines())
    assert abs(float(row[header.index("reg_v")]) - 0.25) < 0.01
    code, _, err = run("solve", *arguments, "--reg", "best")
    assert code == 2
    assert "reg" in err
    assert "'best'" in err
