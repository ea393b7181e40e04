"""Folders of runs of `homing label`."""

from __future__ import annotations

import json

import numpy as np
import pytest

import homing


def write(folder, *events, torn=b""):
    (folder / "run.json").write_text(json.dumps({"version": 1, "classes": ["cat", "dog"]}))
    lines = [json.dumps({"seq": seq, "at": 0, "annotator": "ada", **event}) for seq, event in enumerate(events, 1)]
    (folder / "events.jsonl").write_bytes("".join(line + "\n" for line in lines).encode() + torn)
    return homing.LabelRun(folder)


def label(name, label, **more):
    return {"event": "label", "ids": [name], "label": label, **more}


def test_the_last_answer_that_counts_is_the_label(tmp_path):
    run = write(
        tmp_path,
        label("a", "cat"),
        label("b", "cat"),
        label("a", "dog"),
        {"event": "undo", "of": 3},
        {"event": "exclude", "ids": ["c"]},
        {"event": "skip", "ids": ["d"]},
        {"event": "class", "name": "cow"},
        label("e", "cow"),
        {"event": "undo", "of": 8},
        {"event": "redo", "of": 8},
        torn=b'{"seq": 11, "ev',
    )
    assert run.labels == {"a": "cat", "b": "cat", "e": "cow"}
    assert (run.observed, run.excluded, run.set_aside) == (["a", "b", "c", "e"], ["c"], ["d"])
    assert run.classes == ["cat", "dog", "cow"] and len(run) == 3


def test_the_folder_of_a_run_stands_for_its_observed_rows(tmp_path):
    pool, targets = np.eye(6), np.ones((1, 6))
    run = write(tmp_path, label("1", "cat"), {"event": "exclude", "ids": ["4"]}, {"event": "skip", "ids": ["2"]})
    expected = homing.select(pool, targets, 2, observed=[1, 4]).indices.tolist()
    assert homing.select(pool, targets, 2, observed=run.folder).indices.tolist() == expected
    table = tmp_path / "pool.csv"
    table.write_text("id,x,y\n" + "".join(f"{row},{row % 2},{row}.5\n" for row in (5, 4, 3, 2, 1)))
    selection = homing.select(table, np.ones((1, 2)), 3, observed=run.folder)
    assert not {1, 4} & set(selection.indices.tolist()), "ids 4 and 1 are rows 1 and 4"


def test_most_annotators_decide_and_disagreements_are_listed(tmp_path):
    run = write(
        tmp_path,
        label("a", "cat"),
        label("a", "dog", annotator="bob"),
        label("a", "dog", annotator="eve"),
        {"event": "skip", "ids": ["b"]},
        label("b", "cat", annotator="bob"),
    )
    assert run.labels == {"a": "dog", "b": "cat"}
    assert run.disputed == ["a"]
    assert run.answers["a"][0] == ("bob", "label", "dog")


def test_other_folders_and_broken_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="not a run"):
        homing.LabelRun(tmp_path)
    with pytest.raises(ValueError, match="its number is 7, not 2"):
        write(tmp_path, label("a", "cat"), label("b", "cat", seq=7))


def test_the_ids_of_a_run_are_observed_rows(tmp_path):
    rows = np.random.default_rng(0).standard_normal((30, 4))
    pool = tmp_path / "pool.csv"
    lines = (",".join([f"r{i}", *map(str, row)]) for i, row in enumerate(rows))
    pool.write_text("id,a,b,c,d\n" + "\n".join(lines) + "\n")
    targets = rows[:3].astype(np.float32)
    by_id = homing.select(str(pool), targets, 4, observed=["r0", "r7"])
    assert by_id.indices.tolist() == homing.select(str(pool), targets, 4, observed=[0, 7]).indices.tolist()
    with pytest.raises(ValueError, match="'r99', which the pool lacks"):
        homing.select(str(pool), targets, 4, observed=["r99"])
    with pytest.raises(ValueError, match="the pool has none"):
        homing.select(rows, targets, 4, observed=["r0"])
