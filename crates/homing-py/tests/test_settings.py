"""Every argument is listed once in Python, read once in Rust, and documented once."""

import inspect
import re

import homing
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from homing import _homing, theory
from homing.sklearn import TargetedSelector


def test_every_argument_is_listed_read_and_documented():
    explicit = [name for name in inspect.signature(homing.select).parameters if name not in ("pool", "targets", "options")]
    listed = {*explicit, *homing.Options.__optional_keys__}
    settings, inputs, columns = _homing.argument_names()
    # The package embeds before Rust reads anything.
    assert {*settings, *inputs, *columns, "encoder"} == listed
    table = (ROOT / "docs/python.md").read_text().split("## Arguments")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert sorted(name for cell in cells for name in re.findall(r"`(\w+)`", cell)) == sorted(listed)
    help_text = homing.Columns.__doc__ + homing.Inputs.__doc__ + homing.Settings.__doc__ + homing.select.__doc__
    explained = {name for line in re.findall(r"^    (\w+(?:, \w+)*)$", help_text, re.MULTILINE) for name in line.split(", ")}
    assert listed <= explained


def test_one_dictionary_of_all_options(pool, targets):
    """All options at once, each with a value that changes nothing."""
    options = dict.fromkeys(homing.Options.__optional_keys__)
    options |= {"groups": ["a"] * 400, "quotas": {"a": 5}, "costs": np.ones(400), "budget": 5.0, "forbidden": []}
    options |= {"kernel": None, "center": None, "normalize": None, "seed": 0, "progress": False, "earlier_picks": 0}
    options |= {"repeat": False, "greedy": "exact", "engine": "auto"}
    want = homing.select(pool, targets, 5)
    chosen = homing.select(pool, targets, 5, rule="itl", noise_std=None, observed=None, **options)
    assert chosen.indices.tolist() == want.indices.tolist() and chosen.information.tolist() == want.information.tolist()


@pytest.mark.parametrize(
    ("call", "name", "nearest"),
    [
        (lambda pool, targets, **more: homing.select(pool, targets, 3, **more), "kernal", "kernel"),
        (lambda pool, targets, **more: homing.Selector(pool, **more), "centre", "center"),
        (lambda pool, targets, **more: homing.Retriever(pool, **more), "sede", "seed"),
        (lambda pool, targets, **more: homing.diagnose(pool, targets, **more), "noise_var", "noise_vars"),
        (lambda pool, targets, **more: theory.Model(pool, targets, **more), "nosie_vars", "noise_vars"),
        (lambda pool, targets, **more: TargetedSelector().fit(pool, targets=targets, **more), "bugdet", "budget"),
    ],
)
def test_an_unknown_argument_is_refused_with_the_nearest_name(pool, targets, call, name, nearest):
    with pytest.raises(TypeError, match=f"has no argument '{name}'; did you mean '{nearest}'\\?"):
        call(pool, targets, **{name: 1})


def test_errors_of_the_libraries_name_arguments_of_python():
    arguments = {"pool", "targets", "rule", "noise_std", "observed", *homing.Options.__optional_keys__}
    in_a_file = {"index", "id", "pip install onnxruntime", "off"}
    sentences = _homing._refusals()
    assert len(sentences) > 80
    named = set()
    for sentence in sentences:
        assert not re.search(r"--\w|ReadOptions|\w::\w", sentence), sentence
        quoted = set(re.findall(r"`([^`]+)`", sentence))
        assert quoted <= arguments | in_a_file, sentence
        # A word with underscores is an argument, except for functions of other libraries.
        assert set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b(?!\()", sentence)) <= arguments, sentence
        assert not sentence.endswith("change the arguments"), f"a remedy without words of its own: {sentence}"
        named |= quoted
    assert {"targets", "probabilities", "budget", "pool_access", "embedding_column", "id_column", "label_column"} <= named


@pytest.mark.parametrize("call", [homing.diagnose, theory.Model])
def test_inputs_that_only_affect_the_choice_of_rows_are_refused(pool, targets, tmp_path, call):
    limits = {"groups": ["a"] * 400, "quotas": 3, "costs": np.ones(400), "forbidden": [1]}
    for name, value in limits.items():
        with pytest.raises(TypeError, match=f"does not use '{name}', which only affects the choice of rows; leave it out"):
            call(pool, targets, **{name: value})
        call(pool, targets, **{name: None})
    # Columns of a file that have another use must be named, so that they are not read as part of the embeddings.
    pd.DataFrame(pool).assign(price=1.0, source="web").to_csv(tmp_path / "pool.csv", index=False)
    call(tmp_path / "pool.csv", targets, groups="source", costs="price")


def test_a_refusal_by_its_arguments(pool, targets, tmp_path):
    with pytest.raises(ValueError, match="needs targets; give `targets`, or choose an undirected rule"):
        homing.select(pool, None, 3)
    with pytest.raises(ValueError, match="give `costs`, or leave `budget` out"):
        homing.select(pool, targets, 3, budget=2.0)
    pd.DataFrame({"a": list(pool), "b": list(pool)}).to_parquet(tmp_path / "pool.parquet")
    with pytest.raises(ValueError, match="several columns that could be the embeddings: 'a', 'b'; name one in `embedding_column`"):
        homing.select(tmp_path / "pool.parquet", targets, 3)
    with pytest.raises(ValueError, match="pool_access is 'fast'; choose 'auto', 'map' or 'read'"):
        homing.select(tmp_path / "pool.parquet", targets, 3, pool_access="fast")


def test_a_setting_reaches_the_core_from_every_interface(pool, targets):
    want = homing.select(pool, targets, 6, greedy="stochastic:0.3", seed=5)
    selector = homing.Selector(pool, greedy="stochastic:0.3", seed=5)
    fitted = TargetedSelector(6, seed=5).fit(pool, targets=targets, greedy="stochastic:0.3")
    assert selector.next_batch(targets, 6).indices.tolist() == fitted.select().tolist() == want.indices.tolist()
    found = homing.Retriever(pool, rule="itl", noise_var=want.noise_var, greedy="stochastic:0.3", seed=5).search(targets, N=6)
    assert found.selection.guarantee == want.guarantee is not None
    stopped = homing.Retriever(pool, stop={"variance": 0.5}).search(targets, N=50)
    assert stopped.selection.ended == "variance" and len(stopped) < 50
