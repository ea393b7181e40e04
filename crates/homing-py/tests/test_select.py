"""homing.select: its picks equal those of naive formulas, and exactly those of the command."""

import json
import pickle
import subprocess
import sys

import homing
import numpy as np
import oracle
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SMALL = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, dim, targets = draw(st.integers(4, 40)), draw(st.integers(1, 8)), draw(st.integers(1, 5))
    count = draw(st.integers(1, min(rows, 6)))
    noise = draw(st.floats(0.05, 3.0))
    return rng.standard_normal((rows, dim)), rng.standard_normal((targets, dim)), count, noise


def agree(made, want, values, value):
    """Asserts the same picks or, if rounding decides a tie, picks of the same value."""
    if made.indices.tolist() != want:
        np.testing.assert_allclose(value(made.indices.tolist()), values[-1], rtol=1e-7, atol=1e-9)


@given(problems())
@SMALL
def test_itl_is_greedy_log_determinant_information(problem):
    pool, targets, count, noise = problem
    made = homing.select(pool, targets, count, noise_std=noise)
    want, values = oracle.greedy_itl(pool, targets, count, noise**2)
    joint, aim = oracle.covariance(pool, targets), list(range(len(pool), len(pool) + len(targets)))
    agree(made, want, values, lambda picks: oracle.information(joint, picks, aim, noise**2))
    information = [oracle.information(joint, made.indices[: i + 1].tolist(), aim, noise**2) for i in range(count)]
    np.testing.assert_allclose(made.information, information, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(made.scores, np.diff(information, prepend=0), rtol=1e-5, atol=1e-8)


@given(problems())
@SMALL
def test_vtl_takes_most_variance(problem):
    pool, targets, count, noise = problem
    made = homing.select(pool, targets, count, "vtl", noise)
    want, values = oracle.greedy_vtl(pool, targets, count, noise**2)
    agree(made, want, values, lambda picks: -oracle.posterior_vars(pool, targets, picks, noise**2).sum())
    left = oracle.posterior_vars(pool, targets, made.indices.tolist(), noise**2).sum()
    start = oracle.posterior_vars(pool, targets, [], noise**2).sum()
    np.testing.assert_allclose(made.variance_left[-1], left / start, rtol=1e-6, atol=1e-9)


@given(problems())
@SMALL
def test_undirected_itl_is_greedy_maximum_determinant(problem):
    pool, _, count, noise = problem
    made = homing.select(pool, None, count, "undirected-itl", noise)
    want, values = oracle.greedy_maxdet(pool, count, noise**2)
    agree(made, want, values, lambda picks: oracle.entropy(oracle.covariance(pool), picks, noise**2))
    assert made.variance_left is None


@given(problems())
@SMALL
def test_what_is_observed_is_conditioned_on(problem):
    pool, targets, count, noise = problem
    if count < 2:
        return
    whole = homing.select(pool, targets, count, noise_std=noise).indices
    rest = homing.select(pool, targets, count - 1, noise_std=noise, observed=whole[:1])
    by_points = homing.select(pool, targets, count - 1, noise_std=noise, observed=pool[whole[:1]], forbidden=whole[:1])
    assert rest.indices.tolist() == by_points.indices.tolist()
    joint, aim = oracle.covariance(pool, targets), list(range(len(pool), len(pool) + len(targets)))
    gained = [oracle.information(joint, picks, aim, noise**2) for picks in ([*whole[:1], *rest.indices], whole.tolist())]
    np.testing.assert_allclose(gained[0], gained[1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("rule", [row.name for row in homing.rules()])
def test_every_rule_picks_what_the_command_picks(rule, command, rng, tmp_path):
    pool = rng.standard_normal((1500, 10)).astype(np.float32)
    targets = rng.standard_normal((7, 10)).astype(np.float32)
    likely = rng.dirichlet(np.ones(4), 1500)
    for name, array in [("pool", pool), ("targets", targets), ("likely", likely)]:
        np.save(tmp_path / f"{name}.npy", array)
    subprocess.run(
        [command, "select", "pool.npy", "--targets", "targets.npy", "-n", "12", "--rule", rule, "--seed", "3"]
        + ["--probabilities", "likely.npy", "--out", "picks.jsonl", "--quiet"],
        cwd=tmp_path,
        check=True,
    )
    want = [json.loads(line) for line in (tmp_path / "picks.jsonl").read_text().splitlines()]
    made = homing.select(pool, targets, 12, rule, probabilities=likely, seed=3)
    assert made.indices.tolist() == [pick["index"] for pick in want]
    for column, values in [("score", made.scores), ("information", made.information), ("variance_left", made.variance_left)]:
        assert values.tolist() == [pick[column] for pick in want], column


def test_threads_and_engines_change_nothing(rng):
    pool, targets = rng.standard_normal((3000, 16)).astype(np.float32), rng.standard_normal((6, 16))
    whole = homing.select(pool, targets, 20)
    for more in [{"threads": 1}, {"threads": 3}, {"engine": "plain"}]:
        other = homing.select(pool, targets, 20, **more)
        assert other.indices.tolist() == whole.indices.tolist()
    assert homing.select(pool, targets, 20, threads=1).scores.tolist() == whole.scores.tolist()


def test_limits(pool, targets):
    groups = np.array(["a", "b"])[np.arange(len(pool)) % 2]
    made = homing.select(pool, targets, 9, groups=groups, quotas={"a": 2})
    assert sum(groups[made.indices] == "a") == 2
    made = homing.select(pool, targets, 4, groups=groups, quotas=2)
    assert sorted(groups[made.indices]) == ["a", "a", "b", "b"]
    costs = np.ones(len(pool))
    made = homing.select(pool, targets, 9, costs=costs, budget=3.5)
    assert (len(made), made.ended) == (3, "limits")
    first = homing.select(pool, targets, 3)
    other = homing.select(pool, targets, 3, forbidden=first.indices)
    assert not set(first) & set(other)
    mask = np.zeros(len(pool), dtype=bool)
    mask[first.indices] = True
    assert homing.select(pool, targets, 3, forbidden=mask).indices.tolist() == other.indices.tolist()


def test_stops(pool, targets):
    whole = homing.select(pool, targets, 50)
    made = homing.select(pool, targets, 50, stop={"variance": 0.9}, center=False, normalize=False)
    assert made.ended == "variance" and len(made) < 50
    made = homing.select(pool, targets, 50, stop=homing.Stop(min_gain=0.2))
    assert made.ended == "gain" and (made.gains >= 0.2).all()
    made = homing.select(pool, targets, 50, stop=lambda pick: pick.rank == 4)
    assert made.ended == "progress" and made.indices.tolist() == whole.indices[:4].tolist()
    with pytest.raises(TypeError, match="unexpected"):
        homing.select(pool, targets, 5, stop={"patience": 3})


def test_kernels(pool, targets):
    distance = ((pool[:, None].astype(np.float64) - targets[None]) ** 2).sum(-1)
    near = homing.select(pool, targets[:1], 1, "ctl", kernel="gaussian:2")
    assert near.indices[0] == distance[:, 0].argmin()
    joint = np.concatenate([pool, targets]).astype(np.float64)
    gram, rows = joint @ joint.T, np.arange(len(joint))
    by_matrix = homing.select(rows[:400], rows[400:], 6, kernel=gram, noise_std=0.7)
    assert by_matrix.indices.tolist() == homing.select(pool, targets, 6, noise_std=0.7).indices.tolist()
    with pytest.raises(ValueError, match="row 405"):
        homing.select(rows[:400], [405], 6, kernel=gram)
    with pytest.raises(ValueError, match="gaussian:LENGTH"):
        homing.select(pool, targets, 6, kernel="cubic")
    gap = joint[:, None] - joint[None]
    apart = np.sqrt((gap**2).sum(-1)) / 3
    for kernel, matrix in [
        ("gaussian:3", np.exp(-(apart**2) / 2)),
        ("laplace:3", np.exp(-np.abs(gap).sum(-1) / 3)),
        ("matern:1.5:3", (1 + np.sqrt(3) * apart) * np.exp(-np.sqrt(3) * apart)),
    ]:
        made = homing.select(pool, targets, 6, kernel=kernel, noise_std=0.5)
        by_matrix = homing.select(rows[:400], rows[400:], 6, kernel=matrix, noise_std=0.5)
        assert made.indices.tolist() == by_matrix.indices.tolist(), kernel
        np.testing.assert_allclose(made.information, by_matrix.information, rtol=1e-9)
    likely, aim = np.random.default_rng(1).dirichlet(np.ones(3), 400), np.full((5, 3), 1 / 3)
    made = homing.select(pool, targets, 6, kernel="loss-gradient", probabilities=likely, target_probabilities=aim)
    assert len(set(made)) == 6


def test_targets_of_rounds(pool, targets):
    for sample in [0.5, 2, "max-det:2", "max-dist:3"]:
        made = homing.select(pool, targets, 6, target_sample=sample, picks_per_round=2)
        assert len(set(made)) == 6
    weighted = homing.select(pool, targets, 6, target_sample=1, target_weights=[0, 0, 1, 0, 0], picks_per_round=2)
    assert weighted.indices.tolist() == homing.select(pool, targets[2:3], 6, picks_per_round=2).indices.tolist()
    with pytest.raises(ValueError, match="max-det:20"):
        homing.select(pool, targets, 6, target_sample="some")


def test_less_work_says_what_it_promises(pool, targets):
    made = homing.select(pool, targets, 6, greedy="stochastic:0.2")
    assert "expected information" in made.guarantee
    assert homing.select(pool, targets, 6).guarantee is None
    with pytest.raises(ValueError, match="stochastic:EPSILON"):
        homing.select(pool, targets, 6, greedy="lazy")


def test_refusals(pool, targets):
    for arguments, error, match in [
        ((pool, targets[:, :3], 5), ValueError, "3 dimensions but the pool has 12"),
        ((pool, None, 5), ValueError, "needs targets"),
        ((pool, targets, 0), ValueError, "at least 1"),
        ((pool, targets, 401), ValueError, "cannot pick 401 of 400"),
        ((pool, targets, 2.5), TypeError, "whole number"),
        ((pool, targets, 5, "ilt"), ValueError, "did you mean 'itl'"),
        ((pool, targets, 5, "itl", -1.0), ValueError, "positive"),
        ((pool, targets, 5, "itl", None, [400]), ValueError, "row 400"),
        ((pool, targets, 5, "itl", None, [-1]), ValueError, "counted from 0"),
        ((pool, targets, 5, "max-entropy"), ValueError, "class probabilities"),
    ]:
        with pytest.raises(error, match=match):
            homing.select(*arguments)
    with pytest.raises(ValueError, match="softmax"):
        homing.select(pool, targets, 5, "max-entropy", probabilities=pool)
    with pytest.raises(ValueError, match="threads is 0"):
        homing.select(pool, targets, 5, threads=0)
    with pytest.raises(ValueError, match="1 costs for 400 rows; give one per row"):
        homing.select(pool, targets, 5, costs=[1.0])
    with pytest.raises(ValueError, match="which no row"):
        homing.select(pool, targets, 5, groups=["a"] * 400, quotas={"b": 1})
    for argument, error, match in [
        ({"seed": -1}, ValueError, "seed is -1; at least 0"),
        ({"seed": 2**64}, ValueError, "below 2"),
        ({"seed": None}, TypeError, "a whole number"),
        ({"threads": -1}, ValueError, "threads is -1; at least 1"),
        ({"picks_per_round": 0}, ValueError, "picks_per_round is 0"),
        ({"groups": ["a", None] * 200}, TypeError, "pass them as strings"),
        ({"groups": ["a"] * 400, "quotas": -1}, ValueError, "quota of a group is -1"),
        ({"groups": ["a"] * 400, "quotas": {"a": "x"}}, TypeError, "quota of 'a' is 'x'"),
        ({"costs": ["x"] * 400}, TypeError, "costs are not all numbers"),
        ({"stop": 3}, TypeError, "a Stop, a dict"),
        ({"progress": "x"}, TypeError, "True, False, None or a function"),
        ({"target_sample": True}, TypeError, "target_sample is True"),
        ({"target_weights": np.ones(5)}, ValueError, "a whole number of draws"),
    ]:
        with pytest.raises(error, match=match):
            homing.select(pool, targets, 5, **argument)
    bad = pool.copy()
    bad[17, 3] = np.nan
    with pytest.raises(ValueError, match="row 17"):
        homing.select(bad, targets, 5)


def test_the_result(pool, targets, tmp_path, monkeypatch):
    made = homing.select(pool, targets, 15)
    assert len(made) == 15 and list(made) == made.indices.tolist()
    assert pool[made].shape == (15, 12)
    assert "15 of 400 rows by itl" in repr(made)
    table = made.to_pandas()
    assert table.columns.tolist() == ["rank", "index", "score", "information", "gain", "variance_left"]
    np.testing.assert_array_equal(table["index"], made.indices)
    np.testing.assert_allclose(table["gain"].sum(), made.information[-1])
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match="pip install pandas"):
            made.to_pandas()
    html = made._repr_html_()
    assert html.count("<tr>") == 13 and html.count("<figure") == 2 and "and 3 more" in html
    again = pickle.loads(pickle.dumps(made))
    assert again.indices.tolist() == made.indices.tolist()
    with pytest.raises(ValueError, match="pickled or copied"):
        again.explain()
    made.report(tmp_path / "x.html", title="<b>", ids=[f"row-{i}" for i in range(400)], labels=["<i>"] * 400)
    page = (tmp_path / "x.html").read_text()
    assert page.rstrip().endswith("</html>") and f"row-{made.indices[0]}" in page and "<b></" not in page
    assert [path.name for path in tmp_path.iterdir()] == ["x.html"]
    with pytest.raises(ValueError, match="3 ids for 400 rows"):
        made.report(tmp_path / "x.html", ids=["a"] * 3)


def test_explanations_add_up(pool, targets):
    made = homing.select(pool, targets, 10, noise_std=0.5)
    why = made.explain()
    removed = sum(pick.variance_removed for pick in why.picks)
    vars_after = oracle.posterior_vars(pool, targets, made.indices.tolist(), 0.25)
    start = oracle.posterior_vars(pool, targets, [], 0.25)
    np.testing.assert_allclose(removed, start.sum() - vars_after.sum(), rtol=1e-6)
    np.testing.assert_allclose([target.var for target in why.targets], vars_after, rtol=1e-6)
    for pick in why.picks:
        assert abs(sum(share for _, share in pick.serves) - 1) < 1e-9
    assert str(why).count("\n") == 9 and str(why).startswith(f"1. row {made.indices[0]} ")
