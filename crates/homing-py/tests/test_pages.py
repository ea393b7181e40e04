"""Pages never overwrite an input, and never replace a device or a pipe."""

import os
import stat

import homing
import numpy as np
import pandas as pd
import pytest


@pytest.fixture(params=["select", "diagnose", "selector", "sklearn"])
def made(request):
    """Returns a function that makes a result with a report."""

    def make(pool, targets, **more):
        if request.param == "select":
            return homing.select(pool, targets, 3, **more)
        if request.param == "diagnose":
            return homing.diagnose(pool, targets, n=3, **more)
        if request.param == "selector":
            return homing.Selector(pool, **more).next_batch(targets, 3)
        from homing.sklearn import TargetedSelector

        selector = TargetedSelector(3).fit(pool, targets=targets, **more)
        selector.select()
        return selector.selection_

    return make


def test_a_page_does_not_replace_what_was_read(pool, targets, tmp_path, made):
    np.save(tmp_path / "pool.npy", pool)
    np.save(tmp_path / "targets.npy", targets)
    np.save(tmp_path / "observed.npy", np.array([1, 2]))
    os.symlink(tmp_path / "pool.npy", tmp_path / "link.npy")
    os.link(tmp_path / "pool.npy", tmp_path / "hard.npy")
    mapped = np.load(tmp_path / "pool.npy", mmap_mode="r")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for held, aims in [
        (tmp_path / "pool.npy", str(tmp_path / "targets.npy")),
        (mapped, np.load(tmp_path / "targets.npy", mmap_mode="r")),
        (mapped[100:], np.memmap(tmp_path / "targets.npy", np.float32, "r", 128, (5, 12))[1:]),
        (np.asarray(mapped).view(np.ndarray), tmp_path / "targets.npy"),
    ]:
        result = made(held, aims, observed=tmp_path / "observed.npy")
        for name in before:
            with pytest.raises(ValueError, match=f"{name} is an input and would be overwritten; choose another output"):
                result.report(tmp_path / name)
        result.report(tmp_path / "page.html")
        (tmp_path / "page.html").unlink()
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_page_does_not_replace_forbidden_rows_that_were_read(pool, targets, tmp_path):
    np.save(tmp_path / "forbidden.npy", np.array([3]))
    result = homing.select(pool, targets, 3, forbidden=str(tmp_path / "forbidden.npy"))
    with pytest.raises(ValueError, match="forbidden.npy is an input"):
        result.report(tmp_path / "forbidden.npy")


def test_a_relative_path_stays_the_file_that_it_was(pool, targets, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("pool.npy", pool)
    result = homing.select("pool.npy", targets, 3)
    monkeypatch.chdir("/")
    with pytest.raises(ValueError, match="is an input"):
        result.report(tmp_path / "pool.npy")


def test_a_page_does_not_go_into_a_folder_that_was_read(pool, targets, tmp_path):
    (tmp_path / "parts").mkdir()
    pd.DataFrame({"embedding": list(pool)}).to_parquet(tmp_path / "parts" / "part-1.parquet")
    result = homing.select(tmp_path / "parts", targets, 3)
    for name in ["part-1.parquet", "page.html"]:
        with pytest.raises(ValueError, match="lies in"):
            result.report(tmp_path / "parts" / name)
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["part-1.parquet"]


def test_a_page_does_not_replace_an_index(pool, targets, tmp_path):
    np.save(tmp_path / "index.npy", pool)
    for index in [tmp_path / "index.npy", np.load(tmp_path / "index.npy", mmap_mode="r")]:
        found = homing.Retriever(index).search(targets, N=3)
        with pytest.raises(ValueError, match="is an input"):
            found.selection.report(tmp_path / "index.npy")


def test_a_page_does_not_replace_a_dataset(pool, targets, tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict({"embedding": pool.tolist()}).save_to_disk(str(tmp_path / "saved"))
    saved = datasets.load_from_disk(str(tmp_path / "saved"))
    (file,) = (tmp_path / "saved").glob("*.arrow")
    for held in [saved, saved["embedding"]]:
        with pytest.raises(ValueError, match="is an input"):
            homing.select(held, targets.astype(np.float64), 3).report(file)


def test_what_is_no_file_stays_as_it_is(pool, targets, tmp_path, made):
    result = made(pool, targets)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe cannot be written: it is a device or a pipe"):
        result.report(tmp_path / "pipe")
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    with pytest.raises(OSError, match="it is a device or a pipe"):
        result.report("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(FileNotFoundError, match="its folder does not exist"):
        result.report(tmp_path / "none" / "page.html")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        result.report(tmp_path)
    with pytest.raises(TypeError, match="a str or os.PathLike is needed"):
        result.report(3)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_link_is_written_through_and_a_mode_is_kept(pool, targets, tmp_path, made):
    result = made(pool, targets)
    (tmp_path / "real.html").write_text("old")
    os.chmod(tmp_path / "real.html", 0o640)
    os.symlink("real.html", tmp_path / "link.html")
    result.report(tmp_path / "link.html")
    assert os.path.islink(tmp_path / "link.html")
    assert (tmp_path / "real.html").read_text().rstrip().endswith("</html>")
    assert stat.S_IMODE(os.stat(tmp_path / "real.html").st_mode) == 0o640
    os.chmod(tmp_path / "real.html", 0o444)
    with pytest.raises(OSError, match="read-only"):
        result.report(tmp_path / "link.html")
