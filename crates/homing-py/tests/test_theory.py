"""Diagnoses and the theory, compared with the command and with naive formulas."""

import json
import math
import pickle
import subprocess

import homing
import numpy as np
import oracle
import pytest
from homing import theory


def test_a_diagnosis_is_that_of_the_command(pool, targets, command, tmp_path):
    picks = homing.select(pool, targets, 6)
    for name, array in [("pool", pool), ("targets", targets), ("picks", picks.indices)]:
        np.save(tmp_path / f"{name}.npy", array)
    printed = subprocess.run(
        [command, "diagnose", "pool.npy", "--targets", "targets.npy", "--picks", "picks.npy", "--format", "json", "-q"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    want = json.loads(printed.stdout)
    found = homing.diagnose(pool, targets, picks)
    numbers = found.to_dict()
    for key, value in want.items():
        if key == "targets":
            for ours, theirs in zip(numbers[key], value):
                assert {name: ours[name] for name in theirs} == theirs
        else:
            assert numbers[key] == value, key
    found.report(tmp_path / "x.html")
    assert (tmp_path / "x.html").read_text().rstrip().endswith("</html>")
    assert found.verdict in str(found) and "Γ_6" in found._repr_html_()


def test_a_diagnosis_pickles(pool, targets, tmp_path):
    found = homing.diagnose(pool, targets, n=3)
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found) and again.to_dict() == found.to_dict()
    with pytest.raises(ValueError, match="diagnose again"):
        again.report(tmp_path / "x.html")


def test_a_diagnosis_in_python(pool, targets, rng):
    found = homing.diagnose(pool, targets, n=5, noise_std=0.5)
    assert found.batch.tolist() == homing.select(pool, targets, 5, "itl-exact", 0.5).indices.tolist()
    start = oracle.posterior_vars(pool, targets, [], 0.25)
    np.testing.assert_allclose([target.prior_var for target in found.targets], start, rtol=1e-6)
    assert found.gamma.lower <= found.gamma.upper and 0 <= found.kappa.lower <= found.kappa.upper
    assert found.next_row == found.batch[0]
    weights = rng.standard_normal(12)
    values = pool @ weights + 0.3 * rng.standard_normal(400)
    fitted = homing.diagnose(pool, targets, n=5, values=values, center=False, normalize=False)
    assert 0.05 < fitted.suggested_noise_var < 0.2


def test_values_are_read_from_a_file_of_labels_as_the_command_reads_it(pool, targets, tmp_path):
    labels = tmp_path / "labelled.csv"
    rows = range(0, 80, 2)
    labels.write_text("index,label\n" + "".join(f"{row},{'up' if pool[row, 0] > 0 else 'down'}\n" for row in rows))
    values = np.full((400, 2), np.nan)
    for row in rows:
        values[row] = [pool[row, 0] <= 0, pool[row, 0] > 0]
    found = homing.diagnose(pool, targets, n=3, values=labels).suggested_noise_var
    assert found is not None and found == homing.diagnose(pool, targets, n=3, values=values).suggested_noise_var
    labels.write_text("index,label\n3,up\n5,down\n")
    assert homing.diagnose(pool, targets, n=3, values=labels).suggested_noise_var is None
    labels.write_text("index,label\n3,up\n500,down\n")
    with pytest.raises(ValueError, match="row 500, but the pool has 400 rows"):
        homing.diagnose(pool, targets, n=3, values=labels)
    warned = homing.diagnose(pool, targets, n=5, noise_std=1e3)
    assert any("lower noise_std" in warning for warning in warned.warnings)
    with pytest.raises(ValueError, match="diagnose needs targets"):
        homing.diagnose(pool, None)
    with pytest.raises(ValueError, match="only 400 rows"):
        homing.diagnose(pool, targets, [400])


def test_a_model(pool, targets):
    model = theory.Model(pool, targets, noise_std=0.5)
    after = model.given([3, 7]).given([1])
    assert after.observed == [3, 7, 1] and model.observed == []
    np.testing.assert_allclose(after.target_vars(), oracle.posterior_vars(pool, targets, [3, 7, 1], 0.25), rtol=1e-6)
    np.testing.assert_allclose(model.prior_vars(), (targets.astype(float) ** 2).sum(1), rtol=1e-6)
    assert (model.irreducible_vars() < 1e-6).all(), "400 rows span 12 dimensions"
    labelled = oracle.posterior_vars(pool, targets, list(range(400)), 0.25)
    np.testing.assert_allclose(model.labelled_vars(), labelled, rtol=1e-5)
    row, gain = after.next_pick()
    assert gain == after.gains().max() and row == after.gains().argmax()
    assert after.objective() >= gain
    assert model.noise_var() == 0.25
    capacity = model.capacity(3)
    assert after.information() <= capacity.upper
    ratio = model.submodularity_ratio([3, 7, 1])
    assert 0 <= ratio.lower <= ratio.upper
    rows, variances = model.boundary(0, 0.5 * model.prior_vars()[0])
    np.testing.assert_allclose(
        variances[-1], oracle.posterior_vars(pool, targets, rows.tolist(), 0.25)[0], rtol=1e-6
    )
    constants = model.constants()
    np.testing.assert_allclose(constants.max_total_var - constants.max_var, 0.25)
    # 400 rows in 12 dimensions are linearly dependent, so the theorem gives no bound.
    assert constants.least_eigenvalue == 0 and model.reducible_bound(3) == math.inf
    few = theory.Model(pool[:3], pool[:3], noise_std=0.5)
    assert few.constants().least_eigenvalue == pytest.approx(np.linalg.eigvalsh(oracle.covariance(pool[:3]))[0], rel=1e-6)
    left = oracle.posterior_vars(pool[:3], pool[:3], [0, 1], 0.25) - few.irreducible_vars()
    assert left.max() <= few.reducible_bound(2)


def test_formulas():
    assert theory.guarantee(1.0) == pytest.approx(1 - math.exp(-1))
    assert theory.calibrated_width(2.0, 3.0, 0.1) == pytest.approx(2 + math.sqrt(2 * (3 + math.log(10))))
    assert theory.confidence_width(2.0, 1.0, 3.0, 0.1) == pytest.approx(2 + math.sqrt(2 * (4 + math.log(10))))
    assert theory.objective_bound(6.0, 3) == pytest.approx(2.0)
    n, ln = 10.0, math.log(10.0)
    assert theory.linear_growth(n, 4) == pytest.approx(4 * ln)
    assert theory.gaussian_growth(n, 2) == pytest.approx(ln**3)
    assert theory.laplace_growth(n, 2) == pytest.approx(n ** (2 / 3) * ln ** (1 / 3))
    assert theory.matern_growth(n, 2, 1.5) == pytest.approx(n ** (2 / 5) * ln ** (3 / 5))
    found = theory.sampling_bound(0.5, 1, 16)
    assert found.inclusion == pytest.approx(0.5) and found.at_least == pytest.approx(4.0)
    assert found.probability == pytest.approx(1 - math.exp(-1))
    with pytest.raises(ValueError, match="between 0 and 1"):
        theory.calibrated_width(1.0, 1.0, 2.0)
