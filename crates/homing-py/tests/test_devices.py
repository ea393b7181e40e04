"""Embeddings on a GPU. What needs one is skipped elsewhere: `pytest tests/test_devices.py` on a machine with a GPU and torch."""

import numpy as np
import pytest

import homing
from homing._devices import is_on_device


class OnDevice:
    """An array that claims to lie on the first GPU."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream=None):
        assert stream == 1
        return self.array.__dlpack__()


class Interfaced:
    def __init__(self, array, strides=None):
        self.__cuda_array_interface__ = {**array.__array_interface__, "strides": strides, "version": 3}


POOL = np.random.default_rng(0).standard_normal((300, 8)).astype(np.float32)


def test_arrays_in_memory_are_not_on_a_device():
    assert not is_on_device(POOL)
    assert not is_on_device([[1.0]])
    assert is_on_device(OnDevice(POOL))
    assert is_on_device(Interfaced(POOL))


@pytest.mark.parametrize(
    ("array", "error", "words"),
    [
        (POOL.astype(np.float64), TypeError, "the pool came as float64 on a GPU, which reads float32, float16 and bfloat16"),
        (POOL[0], ValueError, r"the pool came with shape \(8,\); a matrix with one row per example is needed"),
        (POOL[:, ::2], ValueError, "the pool came on a GPU as a view with gaps"),
        (POOL[:0], ValueError, "the pool came empty"),
    ],
)
def test_what_a_gpu_cannot_read_is_refused(array, error, words):
    with pytest.raises(error, match=words):
        homing.select(OnDevice(array), POOL[:2], n=1)


def test_interfaced_arrays_are_checked_as_well():
    with pytest.raises(TypeError, match="the pool came as <f8 on a GPU"):
        homing.select(Interfaced(POOL.astype(np.float64)), POOL[:2], n=1)
    with pytest.raises(ValueError, match="a view with gaps"):
        homing.select(Interfaced(POOL, strides=(4, 32)), POOL[:2], n=1)


def test_without_a_driver_there_is_one_sentence():
    if _has_gpu():
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match=r"^[^\n]*(driver|device)[^\n]*; [^\n]*$"):
        homing.select(OnDevice(POOL), POOL[:2], n=1)


def _has_gpu():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("rule", ["itl", "vtl", "ctl", "undirected-itl", "cosine", "nearest-each", "vtl-top-b"])
def test_a_tensor_on_a_gpu_gives_the_picks_of_the_cpu(dtype, rule):
    if not _has_gpu():
        pytest.skip("there is no GPU, or torch is not installed")
    import torch

    torch.manual_seed(1)
    pool = (torch.randn(20_000, 96) * 0.4 + torch.randn(50, 96)[torch.arange(20_000) % 50]).to(getattr(torch, dtype))
    targets = None if rule == "undirected-itl" else pool[:6] + 0.05
    settings = [{}, {"noise_std": 0.5}, {"center": True}]
    for options in settings:
        here = homing.select(pool, targets, 40, rule, **options)
        there = homing.select(pool.cuda(), None if targets is None else targets.cuda(), 40, rule, **options)
        assert here.indices.tolist() == there.indices.tolist(), options
        np.testing.assert_allclose(here.information, there.information, rtol=1e-9)


def test_a_rule_of_the_cpu_reads_a_tensor_on_a_gpu_and_says_so():
    if not _has_gpu():
        pytest.skip("there is no GPU, or torch is not installed")
    import torch

    here = homing.select(POOL, POOL[:2], n=20, rule="max-dist")
    with pytest.warns(UserWarning, match="The GPU that holds the pool was not used, because this rule runs on the CPU only"):
        there = homing.select(torch.tensor(POOL).cuda(), POOL[:2], n=20, rule="max-dist")
    assert here.indices.tolist() == there.indices.tolist()


def test_selectors_and_retrievers_read_tensors_on_a_gpu():
    if not _has_gpu():
        pytest.skip("there is no GPU, or torch is not installed")
    import torch

    pool = torch.nn.functional.normalize(torch.randn(5_000, 64, generator=torch.Generator().manual_seed(2)))
    on_gpu = pool.cuda()
    batches = [[homing.Selector(rows).next_batch(pool[:3], 7).indices.tolist()] for rows in (pool, on_gpu)]
    assert batches[0] == batches[1]
    found = [homing.Retriever(rows).search(pool[:4].numpy(), 5) for rows in (pool, on_gpu)]
    assert str(found[0]) == str(found[1])
    # Memory that somebody else owns stays as it is.
    assert torch.equal(on_gpu.cpu(), pool)


def test_wrong_names_and_missing_devices_are_one_sentence():
    with pytest.raises(ValueError, match=r"^\"gpu\" is not a device; give 'cuda:0' \('cuda:0,1' for several\), 'auto' or 'cpu' as `device`$"):
        homing.select(POOL, POOL[:2], n=1, device="gpu")
    if not _has_gpu():
        with pytest.raises(RuntimeError, match=r"^there is no NVIDIA [^\n]*`device`[^\n]*$"):
            homing.select(POOL, POOL[:2], n=1, device="cuda:0")


def test_device_cpu_and_auto_choose_from_small_pools_on_the_cpu():
    want = homing.select(POOL, POOL[:2], n=5)
    for device in (None, "cpu", "auto"):
        assert homing.select(POOL, POOL[:2], n=5, device=device).indices.tolist() == want.indices.tolist()
    with pytest.raises(TypeError, match="device"):
        homing.Retriever(POOL, device="cuda:0")


@pytest.mark.parametrize("rule", ["itl", "vtl", "uncertainty"])
def test_a_pool_in_memory_is_uploaded_to_the_device(rule):
    if not _has_gpu():
        pytest.skip("there is no GPU, or torch is not installed")
    pool = np.random.default_rng(5).standard_normal((20_000, 64)).astype(np.float32)
    targets = None if rule == "uncertainty" else pool[:4] + 0.1
    here = homing.select(pool, targets, 30, rule)
    there = homing.select(pool, targets, 30, rule, device="cuda:0")
    assert here.indices.tolist() == there.indices.tolist()
    selector = homing.Selector(pool, rule, device="cuda:0")
    batches = [selector.next_batch(targets, 10).indices.tolist() for _ in range(3)]
    assert sum(batches, []) == homing.select(pool, targets, 30, rule, picks_per_round=10).indices.tolist()


def test_a_rule_of_the_cpu_says_so():
    if not _has_gpu():
        pytest.skip("there is no GPU, or torch is not installed")
    with pytest.warns(UserWarning, match="cuda:0 was not used, because this rule runs on the CPU only"):
        homing.select(POOL, POOL[:2], n=3, rule="max-dist", device="cuda:0")
