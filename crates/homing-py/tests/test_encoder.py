"""Tests of encoders of texts and images."""

import struct
import subprocess
import zlib

import homing
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

TEXTS = ["refund for a lost parcel", "reset my password", "the parcel arrived broken", "where is my parcel", "I forgot my password",
         "delete my account", "change the delivery address of my parcel", "the app crashes"]
TARGETS = ["my parcel did not arrive", "the parcel is broken"]
MODEL = ROOT / "crates/homing-encode/tests/reference/models/bert"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("HOMING_CACHE", str(tmp_path / "cache"))
    pd.DataFrame({"id": [f"t{row}" for row in range(8)], "text": TEXTS, "source": "mail"}).to_csv(tmp_path / "pool.csv", index=False)
    (tmp_path / "targets.txt").write_text("\n".join(TARGETS) + "\n")
    return tmp_path


@pytest.mark.parametrize("model", [None, MODEL])
def test_texts_in_every_form_give_the_picks_of_the_command(files, command, model):
    pool, targets = files / "pool.csv", files / "targets.txt"
    out = files / "picks.csv"
    encoder = [] if model is None else ["--encoder", str(model)]
    subprocess.run([command, "select", pool, "--targets", targets, "-n", "3", "--out", out, "-q", *encoder], check=True)
    picks = pd.read_csv(out)
    frame = pd.read_csv(pool)
    for data, wanted in [(pool, targets), (TEXTS, TARGETS), (frame, TARGETS), (frame["text"], pd.Series(TARGETS)), (np.array(TEXTS), TARGETS)]:
        found = homing.select(data, wanted, 3, encoder=model)
        assert found.indices.tolist() == picks["index"].tolist(), type(data)
        np.testing.assert_allclose(found.information, picks["information"], rtol=1e-9)
    table = homing.select(frame, TARGETS, 3, encoder=model).to_pandas()
    assert table["text"].tolist() == picks["text"].tolist() and table["id"].tolist() == picks["id"].tolist()
    selector = homing.Selector(frame, encoder=model)
    batches = [selector.next_batch(TARGETS, 1).indices[0], *selector.next_batch(TARGETS, 2).indices]
    assert batches == picks["index"].tolist()


def test_texts_beside_stars_and_prices_are_embedded_and_not_the_numbers(files):
    frame = pd.DataFrame({"text": TEXTS, "stars": np.arange(8.0), "price": np.linspace(3.5, 9.0, 8)})
    path = files / "reviews.csv"
    frame.to_csv(path, index=False)
    texts = homing.select(TEXTS, TARGETS, 3).indices.tolist()
    for pool in (frame, path):
        assert homing.select(pool, TARGETS, 3).indices.tolist() == texts
    numbers = homing.select(path, np.ones((1, 2)), 3, encoder="none").indices.tolist()
    assert numbers == homing.select(np.ascontiguousarray(frame[["stars", "price"]]), np.ones((1, 2)), 3).indices.tolist()
    with pytest.raises(ValueError, match="no column that is recognised as texts"):
        (files / "numbers.csv").write_text("stars,price\n1,3\n")
        homing.select(path, files / "numbers.csv", 3)
    # The address of a page is not a text, and a coordinate is not a fact.
    for name, columns in [("url", ["stars", "price"]), ("text", ["x", "price"])]:
        other = frame.set_axis([name, *columns], axis=1)
        with pytest.raises((TypeError, ValueError)):
            homing.select(other, TARGETS, 3)


def test_rows_of_a_file_count_as_observed_if_they_have_a_label(tmp_path, command):
    pool, targets = np.eye(6), np.ones((1, 6))
    (tmp_path / "some.csv").write_text("index,label\n1,a\n2,\n4,b\n")
    (tmp_path / "none.csv").write_text("index,label\n1,\n2,\n")
    for name, rows in [("some.csv", [1, 4]), ("none.csv", [1, 2])]:
        found = homing.select(pool, targets, 2, observed=tmp_path / name).indices.tolist()
        assert found == homing.select(pool, targets, 2, observed=rows).indices.tolist()


def test_embeddings_are_those_of_the_command_and_of_its_cache(files, command):
    out = files / "pool.parquet"
    subprocess.run([command, "embed", files / "pool.csv", "--model", MODEL, "--out", out, "-q"], check=True, capture_output=True)
    encoder = homing.Encoder(MODEL)
    found = encoder.encode(TEXTS)
    assert found.dtype == np.float32 and found.shape == (8, encoder.dim)
    assert encoder.cached == 8, "the command has computed them"
    assert (found == np.stack(pd.read_parquet(out)["embedding"])).all()
    assert (homing.Encoder(MODEL).encode(files / "pool.csv") == found).all()
    assert repr(encoder) == "<Encoder: bert, 16 numbers per embedding>"


def write_png(path, pixels):
    """Writes an image of rows × columns × 3 bytes."""
    rows, columns, _ = pixels.shape
    part = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(lines)) + part(b"IEND", b""))


def test_images_are_embedded_from_their_paths(files):
    rng = np.random.default_rng(0)
    paths = [files / f"{number}.png" for number in range(6)]
    for number, path in enumerate(paths):
        write_png(path, (rng.random((20, 24, 3)) * 60 + 180 * (number % 2)).astype(np.uint8))
    encoder = homing.Encoder()
    found = encoder.encode(paths)
    assert found.shape[0] == 6
    picks = homing.select(pd.DataFrame({"path": [str(path) for path in paths]}), [str(paths[1])], 2, encoder=encoder)
    assert picks.indices[0] == 1


def test_what_cannot_be_embedded_is_refused(files):
    with pytest.raises(ValueError, match="nowhere is not an encoder that can be used: it is not a folder"):
        homing.select(TEXTS, TARGETS, 2, encoder="nowhere")
    with pytest.raises(TypeError, match="the items came as list; a list of texts, of paths, a table or a path is needed"):
        homing.Encoder().encode([1.0, 2.0])
    with pytest.raises(ValueError, match="there is no column 'body'; there are id, text, source"):
        homing.select(pd.read_csv(files / "pool.csv"), TARGETS, 2, text_column="body")
    with pytest.raises(FileNotFoundError):
        homing.select(files / "none.csv", TARGETS, 2)
