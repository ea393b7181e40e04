"""Pools on a Ray cluster: the same picks as on one machine, whatever is lost on the way. The cluster is real: several nodes, each
with its own processes, on this machine."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import homing

ray = pytest.importorskip("ray", reason="Ray is not installed; pip install 'homing[ray]'")
pytest.importorskip("ray.data", reason="Ray Data is not installed; pip install 'homing[ray]'")
pa = pytest.importorskip("pyarrow")

import homing.ray  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore")]

DIM = 112
SPLITS = [[3000], [1000, 2000], [0, 1, 2999], [5, 0, 300, 1, 806, 700, 188, 1000]]
RULES = [rule.name for rule in homing.rules()]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Clustered rows with copies of each other in distant places, their files, targets and class probabilities."""
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((3000, DIM), dtype=np.float32) + 2 * rng.standard_normal((20, DIM), dtype=np.float32)[np.arange(3000) % 20]
    rows[2500:2600] = rows[100:200]
    rows[700] = 0
    targets = rows[:6] + 0.2 * rng.standard_normal((6, DIM), dtype=np.float32)
    probabilities = rng.dirichlet(np.ones(4), 3000).astype(np.float32)
    folder = tmp_path_factory.mktemp("pool")
    np.save(folder / "a.npy", rows[:1234])
    np.save(folder / "b.npy", rows[1234:])
    return rows, targets, probabilities, folder


def same(here, there):
    assert here.indices.tolist() == there.indices.tolist()
    assert here.noise_var == there.noise_var
    assert here.information.tobytes() == there.information.tobytes()
    np.testing.assert_allclose(here.scores, there.scores, rtol=1e-9, atol=1e-12)


def table(rows, probabilities):
    columns = {"id": pa.array([f"r{i}" for i in range(len(rows))]), "text": pa.array([f"text {i}" for i in range(len(rows))])}
    for name, values in (("embedding", rows), ("p", probabilities)):
        columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
    return pa.table(columns)


def living_shards():
    from ray._private.state import actors

    ours = [actor for actor in actors().values() if actor["ActorClassName"] == "Shard"]
    return [actor for actor in ours if actor["State"] in ("ALIVE", "RESTARTING")]


def no_shard_is_left():
    """Ray ends actors a moment after it was told to."""
    deadline = time.monotonic() + 60
    while living_shards() and time.monotonic() < deadline:
        time.sleep(0.1)
    return not living_shards()


@pytest.mark.parametrize("split", SPLITS, ids=lambda split: f"{len(split)} shards")
def test_every_rule_picks_the_same_rows_for_every_split(cluster, data, split):
    rows, targets, _, folder = data
    with homing.ray.Pool(folder, shards=split, num_cpus=0.25) as pool:
        assert pool.counts == split
        for rule in RULES:
            if rule in ("badge", "information-density", "max-entropy", "max-margin", "least-confidence"):
                continue
            here = homing.select(rows, targets, 15, rule, seed=4)
            same(here, pool.select(targets, 15, rule, seed=4))
    with pytest.raises(ValueError, match="the pool is closed"):
        pool.select(targets, 3)


def test_rules_of_class_probabilities_on_a_dataset(cluster, data):
    rows, targets, probabilities, _ = data
    dataset = ray.data.from_arrow([table(rows[at : at + 700], probabilities[at : at + 700]) for at in range(0, 3000, 700)])
    with homing.ray.Pool(
        dataset, shards=3, embedding_column="embedding", id_column="id", probabilities="p", num_cpus=0.25
    ) as pool:
        for rule in ("badge", "information-density", "max-entropy", "max-margin", "least-confidence", "itl"):
            here = homing.select(rows, targets, 15, rule, probabilities=probabilities, seed=2)
            same(here, pool.select(targets, 15, rule, seed=2))


def test_a_parquet_folder_gives_ids_and_a_dataset_of_the_picks(cluster, data, tmp_path):
    rows, targets, probabilities, _ = data
    import pyarrow.parquet as pq

    whole = table(rows, probabilities)
    for number, at in enumerate(range(0, 3000, 500)):
        pq.write_table(whole.slice(at, 500), tmp_path / f"part-{number}.parquet")
    here = homing.select(rows, targets, 8)
    there, chosen = homing.ray.select(
        tmp_path, targets, 8, shards=2, embedding_column="embedding", id_column="id", num_cpus=0.25, dataset=True
    )
    same(here, there)
    assert there.ids == [f"r{row}" for row in here.indices]
    picks = chosen.take_all()
    assert [pick["rank"] for pick in picks] == list(range(1, 9))
    assert [pick["row"] for pick in picks] == here.indices.tolist()
    assert [pick["text"] for pick in picks] == [f"text {row}" for row in here.indices]
    np.testing.assert_array_equal([pick["information"] for pick in picks], here.information)
    assert there.to_pandas()["id"].tolist() == there.ids
    dataset = ray.data.read_parquet(str(tmp_path))
    from_dataset, taken = homing.ray.select(
        dataset, targets, 8, shards=2, embedding_column="embedding", num_cpus=0.25, dataset=True
    )
    # Ray reads files in an order of its own.
    assert [pick["id"] for pick in taken.take_all()] == there.ids
    np.testing.assert_allclose(from_dataset.information, here.information, rtol=1e-9)
    with pytest.raises(ValueError, match="a checkpoint needs a pool of files"):
        homing.ray.select(dataset, targets, 8, shards=2, embedding_column="embedding", checkpoint=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
    assert no_shard_is_left()


def test_settings_that_change_the_picks_do_so_alike(cluster, data):
    rows, targets, _, folder = data
    settings = [
        {"noise_std": 0.5},
        {"observed": [3, 2900], "forbidden": [0, 1, 2]},
        {"picks_per_round": 4, "target_sample": 3, "seed": 5},
        {"target_sample": "max-dist:2", "center": False},
        {"greedy": "stochastic:0.1", "seed": 1},
        {"greedy": "partitioned:3", "seed": 1},
        {"kernel": "gaussian:9.0"},
        {"costs": np.arange(1.0, 3001.0), "budget": 400.0},
        {"stop": {"min_gain": 0.02}},
        {"stop": lambda pick: pick.rank == 5},
        {"engine": "plain"},
    ]
    with homing.ray.Pool(folder, shards=2, num_cpus=0.25) as pool:
        for setting in settings:
            there = pool.select(targets, 12, **setting)
            same(homing.select(rows, targets, 12, **setting), there)
        assert pool.select(targets, 12, greedy="partitioned:3").guarantee
        seen = []
        pool.select(targets, 4, progress=lambda pick: seen.append((pick.rank, threading.current_thread() is threading.main_thread())))
        assert seen == [(rank, True) for rank in range(1, 5)]
        found = pool.select(targets, 3)
        assert len(found.explain().picks) == 3
        with pytest.raises(TypeError, match="give it to the Pool"):
            pool.select(targets, 3, embedding_column="x")


def test_few_numbers_per_row_use_the_gaussian_kernel_as_on_one_machine(cluster, rng, tmp_path):
    rows = rng.standard_normal((900, 8))
    np.save(tmp_path / "pool.npy", rows)
    here = homing.select(rows, rows[:3] + 0.1, 9)
    same(here, homing.ray.select(tmp_path / "pool.npy", rows[:3] + 0.1, 9, shards=2, num_cpus=0.25))
    linear = homing.select(rows, rows[:3] + 0.1, 9, kernel="linear")
    same(linear, homing.ray.select([tmp_path / "pool.npy"], rows[:3] + 0.1, 9, shards=2, num_cpus=0.25, kernel="linear"))


def test_the_default_kernel_is_that_of_one_machine(cluster, tmp_path):
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((20_000, 12), dtype=np.float32)
    np.save(tmp_path / "pool.npy", rows)
    targets = rng.standard_normal((995, 12), dtype=np.float32)
    with homing.ray.Pool(tmp_path, shards=2, num_cpus=0.25) as pool:
        for few, is_gaussian in ((targets, True), (np.concatenate([targets, targets]), False)):
            fetches = []
            pool._fetched = lambda *arguments: (fetches.append(1), type(pool)._fetched(pool, *arguments))[1]
            same(homing.select(rows, few, 3), pool.select(few, 3))
            assert bool(fetches) == is_gaussian


def test_a_retriever_searches_all_shards(cluster, data):
    rows, targets, _, folder = data
    near = homing.Retriever(rows)
    with homing.ray.Pool(folder, shards=[10, 1990, 1000], num_cpus=0.25) as pool:
        far = homing.Retriever(pool)
        for found, want in zip(far.batch_search(targets, 5, 60), near.batch_search(targets, 5, 60)):
            assert found.indices.tolist() == want.indices.tolist()
            assert found.candidates.tolist() == want.candidates.tolist()
        assert far.search(targets[0], 3).candidates.tolist() == near.search(targets[0], 3).candidates.tolist(), "all rows"


def test_a_search_reads_the_rows_of_its_shard_and_names_a_bad_one(cluster, data, tmp_path, monkeypatch):
    from homing.ray import _shard

    rows, targets, _, _ = data
    bad = rows.copy()
    bad[2900, 3] = np.inf
    np.save(tmp_path / "pool.npy", bad)
    read = []

    class Reads:
        """The rows of a file, and a note of those that are read."""

        def __init__(self, data):
            self.data, self.dim = data, data.dim

        def to_numpy(self, start, stop):
            read.append((start, stop))
            return self.data.to_numpy(start, stop)

    monkeypatch.setattr(_shard, "_BLOCK", 100 * DIM)
    shard = _shard.Shard([_shard.Piece(str(tmp_path / "pool.npy"), 1000, 1250)], 40, _shard.Reading(), 1)
    shard.opened = [(path, Reads(data), given) for path, data, given in shard.opened]
    found = shard.nearest(targets[0], 7)
    assert read == [(1000, 1100), (1100, 1200), (1200, 1250)]
    products = rows[1000:1250] @ targets[0]
    assert (found.rows - 40).tolist() == np.argsort(-products, kind="stable")[:7].tolist()
    np.testing.assert_array_equal(found.embeddings, rows[found.rows + 960])
    with homing.ray.Pool(tmp_path, shards=2, num_cpus=0.25) as pool:
        with pytest.raises(ValueError, match="row 2900 of .*pool.npy .* not finite or too large"):
            homing.Retriever(pool).search(targets[0], 3, 9)


def test_bad_input_gets_one_sentence(cluster, data, tmp_path):
    rows, targets, _, _ = data
    bad = rows.copy()
    bad[1300, 5] = np.nan
    np.save(tmp_path / "a.npy", bad[:1234])
    np.save(tmp_path / "b.npy", bad[1234:])
    with homing.ray.Pool(tmp_path, shards=3, num_cpus=0.25) as pool:
        for rule in ("itl", "max-dist"):
            with pytest.raises(ValueError, match=r"^row 66 of .*b\.npy \(row 1300 of the pool\) holds .* not finite; remove or repair it$"):
                pool.select(targets, 3, rule)
    np.save(tmp_path / "b.npy", bad[1234:, :50])
    with pytest.raises(ValueError, match="has 112 numbers per row but .*b.npy has 50"):
        homing.ray.select(tmp_path, targets, 3, shards=[1234, 1766], num_cpus=0.25)
    with pytest.raises(FileNotFoundError):
        homing.ray.select(tmp_path / "missing.npy", targets, 3)
    (tmp_path / "b.npy").write_bytes(b"no array")
    with pytest.raises(ValueError, match="b.npy"):
        homing.ray.select(tmp_path, targets, 3)
    with pytest.raises(ValueError, match="targets have 7 dimensions"):
        homing.ray.select(tmp_path / "a.npy", targets[:, :7], 3, num_cpus=0.25)
    with pytest.raises(TypeError, match="a Ray Dataset, a path or a list of paths"):
        homing.ray.select(rows, targets, 3)
    assert no_shard_is_left()


class Killing:
    """Kills the actor of one shard before one of the questions, and while it computes the answer."""

    def __init__(self, pool, at, during):
        self.pool, self.at, self.during, self.count = pool, at, during, 0
        self.ask = pool._actors._ask
        pool._actors._ask = self

    def __call__(self, shards, message):
        self.count += 1
        if self.count == self.at:
            victim = shards[self.count % len(shards)]
            pid = self.pool._actors.call([victim], "describe")[0]["pid"]
            if self.during:
                threading.Timer(0.003, os.kill, (pid, signal.SIGKILL)).start()
            else:
                os.kill(pid, signal.SIGKILL)
        return self.ask(shards, message)


@pytest.mark.parametrize("rule", ["itl", "max-dist"])
def test_an_actor_that_dies_at_any_question_changes_nothing(cluster, data, rule):
    rows, targets, _, folder = data
    here = homing.select(rows, targets, 10, rule)
    with homing.ray.Pool(folder, shards=2, num_cpus=0.25) as pool:
        counting = Killing(pool, 0, False)
        same(here, pool.select(targets, 10, rule))
        questions = counting.count
        pool._actors._ask = counting.ask
        for at in sorted({1, 2, 3, questions // 2, questions - 1, questions}):
            killing = Killing(pool, at, during=at % 2 == 0)
            same(here, pool.select(targets, 10, rule))
            pool._actors._ask = killing.ask
    assert no_shard_is_left()


def test_an_actor_that_is_ended_for_good_is_replaced(cluster, data):
    rows, targets, _, folder = data
    with homing.ray.Pool(folder, shards=2, num_cpus=0.25) as pool:
        ray.kill(pool._actors.actors[1], no_restart=True)
        same(homing.select(rows, targets, 10), pool.select(targets, 10))
    with homing.ray.Pool(folder, shards=2, num_cpus=0.25, restarts=0) as pool:
        ray.kill(pool._actors.actors[1], no_restart=True)
        with pytest.raises(homing.ray.ShardLost, match="shard 1 was lost 1 times"):
            pool.select(targets, 10)


def test_a_node_that_is_removed_in_the_middle_changes_nothing(cluster, data):
    rows, targets, _, folder = data
    node = cluster.add_node(num_cpus=1, resources={"extra": 1})
    cluster.wait_for_nodes()
    here = homing.select(rows, targets, 25, "max-dist")
    with homing.ray.Pool(folder, shards=4, num_cpus=0.5, restarts=10) as pool:
        ids = {actor["Address"]["NodeID"] for actor in living_shards()}
        assert len(ids) > 1, "the shards are on several nodes"
        removed = []

        def remove(pick):
            if pick.rank == 3 and not removed:
                removed.append(node)
                cluster.remove_node(node, allow_graceful=False)

        same(here, pool.select(targets, 25, "max-dist", progress=remove))
        assert removed


DRIVER = """
import sys, numpy as np, ray, homing, homing.ray
address, folder, targets, checkpoint, ready, pause = sys.argv[1:]
ray.init(address=address, log_to_driver=False)
def report(pick):
    open(ready, "a").write(f"{pick.rank}\\n")
    import time; time.sleep(float(pause))
found = homing.ray.select(folder, np.load(targets), 40, "max-dist", shards=2, num_cpus=0.25, checkpoint=checkpoint, progress=report)
print(found.indices.tolist())
"""


def test_a_driver_that_dies_continues_from_its_checkpoint(cluster, data, tmp_path):
    rows, targets, _, folder = data
    np.save(tmp_path / "targets.npy", targets)
    arguments = [cluster.address, str(folder), str(tmp_path / "targets.npy"), str(tmp_path / "checkpoint")]
    def start(ready, pause):
        return subprocess.Popen([sys.executable, "-c", DRIVER, *arguments, str(ready), pause], stdout=subprocess.PIPE, text=True)

    first = start(tmp_path / "first", "0.1")
    deadline = time.monotonic() + 60
    while not ((tmp_path / "first").exists() and len((tmp_path / "first").read_text().split()) > 15):
        assert time.monotonic() < deadline and first.poll() is None
        time.sleep(0.05)
    first.kill()
    first.wait()
    kept = json.loads((tmp_path / "checkpoint").read_text())["picks"]
    assert 5 < len(kept) < 40
    second = start(tmp_path / "second", "0")
    printed, _ = second.communicate(timeout=90)
    assert second.returncode == 0
    here = homing.select(rows, targets, 40, "max-dist")
    assert json.loads(printed.splitlines()[-1]) == here.indices.tolist()
    with pytest.raises(ValueError, match="another selection"):
        homing.ray.select(folder, targets[:3], 40, "max-dist", shards=2, num_cpus=0.25, checkpoint=tmp_path / "checkpoint")
    (tmp_path / "checkpoint").write_text("{")
    with pytest.raises(ValueError, match="is no checkpoint"):
        homing.ray.select(folder, targets, 40, "max-dist", shards=2, num_cpus=0.25, checkpoint=tmp_path / "checkpoint")
    assert no_shard_is_left(), "actors of the driver that died still run"


def test_a_function_that_ends_the_selection_goes_with_a_checkpoint(cluster, data, tmp_path):
    rows, targets, _, folder = data
    kept = tmp_path / "kept.json"

    def broken(pick):
        if pick.rank == 6:
            raise RuntimeError("the program dies")

    here = homing.select(rows, targets, 20, stop=lambda pick: pick.rank == 11)
    assert len(here) == 11
    with homing.ray.Pool(folder, shards=2, num_cpus=0.25) as pool:
        with pytest.raises(RuntimeError, match="dies"):
            pool.select(targets, 20, stop=broken, checkpoint=kept)
        assert len(json.loads(kept.read_text())["picks"]) in (5, 6)
        seen = []
        there = pool.select(targets, 20, stop=lambda pick: seen.append(pick.rank) or pick.rank == 11, checkpoint=kept)
        same(here, there)
        assert seen == list(range(1, 12)), "it is called with the earlier picks, too"
        with pytest.raises(ValueError, match="another selection"):
            pool.select(targets, 20, stop={"min_gain": 0.01}, checkpoint=kept)
        with pytest.raises(ValueError, match="needs all rows on one machine"):
            homing.ray._pool._FETCHED, most = 10, homing.ray._pool._FETCHED
            try:
                pool.select(targets, 20, kernel="gaussian:1", checkpoint=tmp_path / "none.json")
            finally:
                homing.ray._pool._FETCHED = most
        assert not (tmp_path / "none.json").exists()


def test_an_interrupt_ends_the_actors(cluster, data, tmp_path):
    np.save(tmp_path / "targets.npy", data[1])
    ready = tmp_path / "ready"
    arguments = [cluster.address, str(data[3]), str(tmp_path / "targets.npy"), str(tmp_path / "checkpoint"), str(ready), "0.1"]
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, *arguments], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (ready.exists() and len(ready.read_text().split()) > 3):
        assert time.monotonic() < deadline and driver.poll() is None
        time.sleep(0.05)
    driver.send_signal(signal.SIGINT)
    _, said = driver.communicate(timeout=30)
    assert driver.returncode != 0 and "KeyboardInterrupt" in said
    assert no_shard_is_left()
