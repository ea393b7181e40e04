"""Every argument gives a result or an exception with one sentence, and never ends the interpreter."""

import os
import subprocess
import sys
import warnings

import homing
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from homing import theory
from homing.compat.activeft import ActiveDataLoader
from homing.sklearn import TargetedSelector
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# By default, the same few hundred examples run every time; HOMING_TRIES requests this many random ones.
TRIES = int(os.environ.get("HOMING_TRIES", 0))
EXAMPLES = settings(
    deadline=None,
    max_examples=TRIES or 250,
    derandomize=not TRIES,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)

NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 2, 3, 7, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400]),
    st.sampled_from([0.0, 1.0, 0.5, -0.0, 1e-320, 1e160, 1e308, float("nan"), float("inf"), -float("inf")]),
    st.sampled_from([np.float32(0.5), np.int8(3), np.uint64(2**64 - 1), np.bool_(True), np.longdouble(2), np.complex64(1j)]),
)
ODD = st.one_of(
    NUMBERS,
    st.sampled_from([None, True, False, "", "itl", "a.b", "max-det:3", "max-det:²", "\ud800", "a\0b", b"x", (), [], {}, object()]),
    st.sampled_from([pd.NA, pd.NaT, Ellipsis, 1j, {1, 2}, range(3), [[1.0], [2.0, 3.0]], [None], [[]], [10**400], {"min_gain": 10**400}]),
)
KINDS = ["f4", "f8", "f2", ">f4", ">f8", "i4", "u8", "u2", "?", "O", "c8", "U2", "M8[s]", "V4", "g"]
SETTING = st.one_of(st.sampled_from([1, 2, 3, 5, 0.5]), ODD)


@st.composite
def arrays(draw, rows=None, dim=None):
    """Arrays of every type, shape and layout, most of them usable."""
    kind = draw(st.sampled_from(["f4", "f4", "f8", "f8", "f2", *KINDS]))
    dims = 2 if draw(st.integers(0, 9)) else draw(st.integers(0, 3))
    shape = tuple(draw(st.integers(0 if draw(st.integers(0, 9)) == 0 else 1, 6)) for _ in range(dims))
    if dims == 2:
        shape = (rows if rows and draw(st.booleans()) else shape[0], dim if dim and draw(st.integers(0, 9)) else shape[1])
    if np.dtype(kind).kind == "f":
        array = np.random.default_rng(draw(st.integers(0, 99))).standard_normal(shape).astype(kind)
        if array.size and not draw(st.integers(0, 5)):
            with np.errstate(over="ignore"):
                array.flat[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from([np.nan, np.inf, 0, 1e300, 1e-300]))
    elif kind == "O":
        array = np.full(shape, draw(st.sampled_from([None, 10**400, "x", 1.5])), dtype=object)
    else:
        array = np.zeros(shape, kind)
    return draw(layouts(array))


@st.composite
def layouts(draw, array):
    """The same numbers, often in another layout or container."""
    how = draw(st.integers(0, 15))
    if how == 0:
        return np.asfortranarray(array)
    if how == 1 and array.ndim:
        return array[::-1]
    if how == 2 and array.ndim:
        return array[::2]
    if how == 3 and array.ndim == 2:
        return array[:, ::-1]
    if how == 4 and array.ndim == 2 and len(array):
        return np.broadcast_to(array[:1], (4, array.shape[1]))
    if how == 5 and array.dtype != object:
        raw = np.zeros(array.nbytes + 1, np.uint8)
        shifted = raw[1:].view(array.dtype)[: array.size].reshape(array.shape) if array.dtype.itemsize else array
        shifted[...] = array
        return shifted
    if how == 6:
        array.flags.writeable = False
    if how == 7 and array.ndim == 2 and array.dtype.kind in "fiu" and array.dtype.isnative and array.dtype.itemsize < 16:
        return pd.DataFrame(array, columns=draw(st.sampled_from([None, list(map(str, range(array.shape[1])))[::-1]])))
    if how == 8 and array.ndim == 2 and array.dtype.kind == "f" and array.dtype.isnative and array.dtype.itemsize < 16:
        return pa.table({"embedding": list(array)}) if len(array) else pa.table({"embedding": []})
    if how == 9 and array.ndim:
        return array.tolist()
    if how == 10:
        return np.ma.masked_array(array)
    if how == 11 and array.ndim == 2:
        return array.view(np.matrix) if array.dtype.kind == "f" else array
    return array


POOLS = st.one_of(arrays(dim=3), arrays(dim=3), arrays(dim=3), ODD)
TARGETS = st.one_of(arrays(dim=3), arrays(dim=3), arrays(dim=3), ODD)
ROWS = st.one_of(st.lists(st.integers(0, 3), max_size=3), arrays(), ODD)
RULES = st.one_of(st.sampled_from([rule.name for rule in homing.rules()]), ODD)

# A setting that is not listed below is tried with all odd values.
SETTINGS = {
    **{name: ODD for name in homing.Options.__optional_keys__},
    "noise_std": SETTING,
    "observed": ROWS,
    "probabilities": st.one_of(arrays(), ODD),
    "groups": st.one_of(arrays(), ODD),
    "costs": st.one_of(arrays(), ODD),
    "seed": SETTING,
    "threads": SETTING,
    "progress": st.sampled_from([None, False, 3, "x", lambda pick: False]),
    "stop": st.one_of(ODD, st.builds(dict, variance=SETTING), st.builds(homing.Stop, min_gain=SETTING)),
    "kernel": st.one_of(
        st.sampled_from(["linear", "gaussian:1", "laplace:0", "matern:1e9:1", "matern:x", "loss-gradient", "gaussian:nan"]),
        arrays(),
        ODD,
    ),
    "quotas": st.one_of(SETTING, st.dictionaries(st.one_of(st.text(max_size=1), st.integers(0, 2)), SETTING, max_size=2)),
    "budget": SETTING,
    "forbidden": ROWS,
    "noise_vars": st.one_of(arrays(), ODD),
    "target_probabilities": st.one_of(arrays(), ODD),
    "target_sample": SETTING,
    "target_weights": st.one_of(arrays(), ODD),
    "picks_per_round": SETTING,
    "beta": SETTING,
    "greedy": st.one_of(st.sampled_from(["stochastic:0.5", "partitioned:2", "partitioned:99999999999", "stochastic:nan"]), ODD),
    "engine": st.one_of(st.sampled_from(["plain", "speculative"]), ODD),
    "observed_points": st.one_of(arrays(), ODD),
    "earlier_picks": SETTING,
}
INPUTS = homing.Inputs.__optional_keys__


def some(draw, names):
    """A few settings; with more, most calls would be refused early."""
    chosen = draw(st.lists(st.sampled_from(sorted(names)), max_size=2, unique=True))
    return {name: draw(SETTINGS[name]) for name in chosen}


def tried(call):
    """Returns the result of a call, or None if it is refused with one sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except (ValueError, TypeError, FileNotFoundError) as error:
        said = str(error)
        assert said and "\n" not in said and len(said) < 1000, f"not one sentence: {said!r}"
        return None


@given(data=st.data())
@EXAMPLES
def test_select(data):
    draw = data.draw
    pool, targets, n, rule = draw(POOLS), draw(st.one_of(st.none(), TARGETS)), draw(SETTING), draw(RULES)
    more = some(draw, SETTINGS)
    made = tried(lambda: homing.select(pool, targets, n, rule, **more))
    if made is not None:
        assert len(made) <= n and all(0 <= row < made.rows for row in made)
        tried(lambda: made.explain(draw(SETTING)))
        repr(made), made._repr_html_(), made.to_pandas()


@given(data=st.data())
@EXAMPLES
def test_a_loop(data):
    draw = data.draw
    pool, rule = draw(arrays(rows=6, dim=3)), draw(RULES)
    selector = tried(lambda: homing.Selector(pool, rule, **some(draw, INPUTS | {"observed", "noise_std", "budget", "seed"})))
    if selector is None:
        return
    for _ in range(draw(st.integers(1, 4))):
        step = draw(st.sampled_from(["next", "next", "observe", "forget", "update"]))
        if step == "next":
            tried(lambda: selector.next_batch(draw(st.one_of(st.none(), TARGETS)), draw(SETTING), observe=draw(st.booleans())))
        else:
            tried(lambda: getattr(selector, step)(draw(POOLS if step == "update" else ROWS)))
        tried(lambda: repr(selector))
        tried(lambda: len(selector.observed))


@given(data=st.data())
@EXAMPLES
def test_a_retriever(data):
    draw = data.draw
    options = {"rule": RULES, "noise_var": SETTING, "also_opposite": st.booleans(), "threads": SETTING, "seed": SETTING}
    names = draw(st.lists(st.sampled_from(sorted(options)), max_size=2, unique=True))
    given_options = {name: draw(options[name]) for name in names}
    retriever = tried(lambda: homing.Retriever(draw(POOLS), **given_options))
    if retriever is not None:
        tried(lambda: retriever.search(draw(TARGETS), draw(SETTING), draw(st.one_of(st.none(), SETTING))))
        tried(lambda: retriever.batch_search(draw(TARGETS), draw(SETTING), draw(st.one_of(st.none(), SETTING))))


@given(data=st.data())
@EXAMPLES
def test_diagnose(data):
    draw = data.draw
    more = some(draw, INPUTS | {"noise_std", "observed", "seed"})
    values = draw(st.one_of(st.none(), arrays(), ODD))
    n = draw(st.one_of(st.integers(1, 3), ODD))
    found = tried(lambda: homing.diagnose(draw(POOLS), draw(TARGETS), draw(st.one_of(st.none(), ROWS)), n, values=values, **more))
    if found is not None:
        repr(found), str(found), found._repr_html_(), found.to_dict()


@given(data=st.data())
@EXAMPLES
def test_theory(data):
    draw = data.draw
    for name in ["guarantee", "objective_bound", "confidence_width", "calibrated_width", "linear_growth", "gaussian_growth",
                 "laplace_growth", "matern_growth", "sampling_bound"]:
        call = getattr(theory, name)
        arguments = [draw(SETTING) for _ in range(call.__code__.co_argcount)]
        tried(lambda: call(*arguments))
    more = some(draw, INPUTS | {"noise_std", "observed", "threads"})
    model = tried(lambda: theory.Model(draw(POOLS), draw(st.one_of(st.none(), TARGETS)), **more))
    if model is None:
        return
    model = tried(lambda: model.given(draw(ROWS))) or model
    for name in ["noise_var", "prior_vars", "target_vars", "irreducible_vars", "labelled_vars", "gains", "information",
                 "objective", "next_pick", "constants"]:
        tried(getattr(model, name))
    tried(lambda: model.capacity(draw(SETTING)))
    tried(lambda: model.reducible_bound(draw(SETTING)))
    tried(lambda: model.submodularity_ratio(draw(ROWS), draw(SETTING)))
    tried(lambda: model.boundary(draw(SETTING), draw(SETTING), draw(SETTING)))


@given(data=st.data())
@EXAMPLES
def test_the_interfaces_of_other_libraries(data):
    draw = data.draw
    pool, targets = draw(POOLS), draw(TARGETS)
    tried(lambda: TargetedSelector(draw(SETTING), rule=draw(RULES)).fit(pool, targets=targets).select(draw(SETTING)))
    try:
        tried(lambda: ActiveDataLoader.initialize(pool, targets, draw(SETTING), seed=draw(SETTING)).next())
    except AssertionError as error:
        # activeft raises these too.
        assert str(error) in ("Data must be non-empty", "Batch size must be positive")


@given(data=st.data())
@EXAMPLES
def test_pages(tmp_path, data):
    draw = data.draw
    made = homing.select(np.eye(4), np.eye(4)[:2], 2)
    found = homing.diagnose(np.eye(4), np.eye(4)[:2], n=2)
    path = draw(st.one_of(st.just(tmp_path / "x.html"), NUMBERS, st.just(b"x"), st.just("a\0b")))
    more = {"title": draw(ODD), "ids": draw(ODD), "labels": draw(ODD), "threads": draw(SETTING)}
    tried(lambda: made.report(path, **more))
    tried(lambda: found.report(path, draw(SETTING)))


def test_a_selection_with_other_numbers_is_not_explained(pool, targets):
    from dataclasses import replace

    made = homing.select(pool, targets, 3)
    for spoilt in [
        replace(made, indices=made.indices[::-1]),
        replace(made, indices=np.arange(9)),
        replace(made, indices=np.array([1, 2, -1])),
        replace(made, indices=np.array([1, 2, 400])),
        replace(made, scores=made.scores[:1]),
        replace(made, variance_left=made.variance_left[:1]),
        replace(made, indices=np.array([1.5, 2, 3])),
    ]:
        with pytest.raises(ValueError, match="select again"):
            spoilt.explain()


@pytest.mark.parametrize(
    "call",
    [
        "homing.select(pool, pool[:2], {}, repeat=True)",
        "homing.select(pool, pool[:2], {})",
        "homing.select(pool, pool[:2], 3, threads={})",
        "homing.Selector(pool, repeat=True).next_batch(pool[:2], {})",
        "homing.select(pool, pool[:2], 3, repeat=True, picks_per_round={}, greedy='partitioned:2', earlier_picks={})",
        "homing.theory.Model(pool, pool[:2]).capacity({})",
        "homing.theory.Model(pool, pool[:2]).boundary({}, 0.1, 3)",
        "homing.diagnose(pool, pool[:2], n={})",
        "homing.Retriever(pool).batch_search(pool[:2], N={}, K={})",
        "homing.compat.activeft.sift.Retriever(index, also_query_opposite=False).search(pool[:1], {}, 3)",
    ],
)
def test_a_huge_count_does_not_end_the_interpreter(call):
    """In a separate process with 4 GiB, which an allocation of that size would end."""
    counts = ["10**11", "2**63 - 1", "2**63", "10**400", "10**5000"]
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
import numpy as np, homing, homing.compat.activeft
pool = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)
if "index" in {call!r}:
    import faiss
    index = faiss.IndexFlatIP(4)
    index.add(pool)
for count in {counts}:
    try:
        eval({call!r}.replace("{{}}", count))
        print(count, "a result")
    except ValueError as error:
        assert str(error), error
        print(count, "refused:", error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.count("\n") == len(counts), done.stdout + done.stderr
