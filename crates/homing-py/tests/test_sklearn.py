"""Tests of the scikit-learn-style interface."""

import homing
import numpy as np
import pytest
from homing.sklearn import TargetedSelector
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler


def test_it_is_an_estimator(pool, targets):
    selector = TargetedSelector(n_select=7, rule="vtl", noise_std=0.3)
    assert selector.get_params() == {
        "n_select": 7, "rule": "vtl", "noise_std": 0.3, "kernel": None, "center": None, "normalize": None,
        "seed": 0, "threads": None,
    }
    again = clone(selector).set_params(rule="itl")
    assert (again.rule, again.n_select) == ("itl", 7)
    for use in [again.select, lambda: again.observe([1]), lambda: again.forget([1])]:
        with pytest.raises(NotFittedError, match="not fitted"):
            use()
    rows = again.fit(pool, targets=targets).select()
    assert rows.tolist() == homing.select(pool, targets, 7, noise_std=0.3).indices.tolist()
    assert (again.n_features_in_, again.n_samples_) == (12, 400)
    assert again.fit_select(pool, targets=targets).tolist() == rows.tolist()


def test_batches_follow_one_another(pool, targets):
    selector = TargetedSelector(n_select=4).fit(pool, targets=targets)
    for _ in range(3):
        selector.select()
    assert selector.indices_.tolist() == homing.select(pool, targets, 12).indices.tolist()
    last = selector.selection_.indices
    selector.forget(last)
    assert selector.indices_.tolist() == homing.select(pool, targets, 8).indices.tolist()
    assert selector.select().tolist() == last.tolist()
    mask = np.zeros(400, dtype=bool)
    mask[last] = True
    assert selector.forget(mask).indices_.tolist() == homing.select(pool, targets, 8).indices.tolist()


def test_rounds_with_a_model_that_predicts_probabilities():
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    rng = np.random.default_rng(0)
    start = rng.choice(len(X), 50, replace=False)
    for rule in ["max-entropy", "max-margin", "least-confidence", "badge"]:
        selector = TargetedSelector(n_select=10, rule=rule).fit(X, observed=start)
        labelled = start
        for _ in range(2):
            model = LogisticRegression(max_iter=200).fit(X[labelled], y[labelled])
            rows = selector.select(estimator=model)
            if rule == "max-entropy":
                likely = model.predict_proba(X)
                entropy = -(likely * np.log(likely)).sum(1)
                entropy[labelled] = -np.inf
                assert set(rows) == set(np.argsort(-entropy)[:10])
            assert not set(rows) & set(labelled)
            labelled = np.concatenate([labelled, rows])
        assert len(set(labelled)) == 70
    density = TargetedSelector(rule="information-density").fit(X, targets=X[:3])
    assert len(density.select(5, probabilities=model.predict_proba(X))) == 5


def test_a_pipeline_transforms_the_targets_or_refuses(pool, targets):
    scaled = Pipeline([("scale", StandardScaler()), ("select", TargetedSelector(5))])
    with pytest.raises(ValueError, match="transforms X by scale, but not the targets; transform both before this step"):
        scaled.fit(pool * 3 + 1, select__targets=targets)
    by_hand = StandardScaler().fit(pool * 3 + 1)
    want = TargetedSelector(5).fit_select(by_hand.transform(pool * 3 + 1), targets=by_hand.transform(targets))
    with config_context(enable_metadata_routing=True):
        selector = TargetedSelector(5).set_fit_request(targets=True)
        steps = [("scale", StandardScaler()), ("select", selector)]
        Pipeline(steps, transform_input=["targets"]).fit(pool * 3 + 1, targets=targets)
        assert selector.select().tolist() == want.tolist()
    alone = Pipeline([("nothing", "passthrough"), ("select", TargetedSelector(5))]).fit(pool, select__targets=targets)
    assert len(alone[-1].select()) == 5
    assert len(Pipeline([("scale", StandardScaler()), ("select", TargetedSelector(5, rule="random"))]).fit(pool)[-1].select()) == 5
