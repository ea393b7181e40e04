"""The activeft-compatible interface with tensors and models, compared with activeft if it is installed."""

import importlib.util
import inspect
import pkgutil

import homing.compat.activeft as activeft
import numpy as np
import pytest
from test_compat_activeft import GOLDEN, golden_inputs

torch = pytest.importorskip("torch", reason="torch is not installed; `crates/homing-py/test torch` runs these")
functions = activeft.acquisition_functions


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.hidden, self.final_layer = torch.nn.Linear(16, 8), torch.nn.Linear(8, 3)

    def embed(self, x):
        return torch.tanh(self.hidden(x))

    logits = embed

    def forward(self, x):
        return self.final_layer(self.embed(x))

    def predict(self, x):
        return self(x).argmax(1)


def inputs():
    return map(torch.from_numpy, golden_inputs())


def test_tensors_come_back():
    dataset, target = inputs()
    loader = activeft.ActiveDataLoader.initialize(dataset, target, batch_size=8)
    indices, values = loader.next()
    assert isinstance(indices, torch.Tensor) and indices.dtype == torch.int64 and values.dtype == torch.float32
    assert torch.equal(dataset[loader.next()], dataset[indices])
    assert torch.equal(activeft.data.Dataset(dataset)[loader.next()], dataset[indices])
    for kind in [torch.float64, torch.bfloat16, torch.float16]:
        other, aim = dataset.to(kind), target.to(kind)
        assert len(activeft.ActiveDataLoader.initialize(other, aim, batch_size=8).next()[0]) == 8


def test_models():
    dataset, target = inputs()
    model = Model()
    with torch.no_grad():
        embedded, aim = model.embed(dataset).numpy(), model.embed(target).numpy()
    want = functions.VTL(aim).select(5, None, embedded)[0]
    loader = activeft.ActiveDataLoader.initialize(dataset, target, batch_size=5, embedding_batch_size=7)
    assert loader.next(model)[0].tolist() == want.tolist()

    class Kernel:
        def kernel(self, x1, x2):
            with torch.no_grad():
                return model.embed(x1) @ model.embed(x2).T

    class Latent(Model):
        def latent_covariance(self):
            return 4.0 * torch.eye(8)

    assert functions.VTL(target).select(5, Kernel(), dataset)[0].tolist() == want.tolist()
    doubled = functions.VTL(2 * aim).select(5, None, 2 * embedded)[0]
    assert functions.VTL(target).select(5, Latent(), dataset)[0].tolist() == doubled.tolist()
    for function in [functions.MaxEntropy, functions.MinMargin, functions.LeastConfidence]:
        indices, values = function().select(5, model, dataset)
        likely = torch.softmax(model(dataset), 1).detach().double()
        top = likely.topk(2, 1).values
        formula = {
            "MaxEntropy": -(likely * likely.log()).sum(1),
            "MinMargin": top[:, 1] - top[:, 0],
            "LeastConfidence": -top[:, 0],
        }[function.__name__]
        best = formula.topk(5)
        assert indices.tolist() == best.indices.tolist()
        np.testing.assert_allclose(values, best.values, rtol=1e-5)
    assert len(functions.InformationDensity(target, beta=2.0).select(5, model, dataset)[0]) == 5


def test_expected_information_is_that_of_a_real_step():
    dataset, target = inputs()
    model, row = Model().double(), 3
    dataset, target = dataset.double(), target.double()
    gained = functions.EIG(target).compute(model, dataset)

    @torch.no_grad()
    def entropy():
        likely = torch.softmax(model(target), 1)
        return float(-(likely * likely.log()).sum())

    before, expected = entropy(), 0.0
    likely = torch.softmax(model(dataset[row : row + 1]), 1)[0].detach()
    for c in range(3):
        weight = model.final_layer.weight
        start = weight.detach().clone()
        loss = torch.nn.functional.cross_entropy(model(dataset[row : row + 1]), torch.tensor([c]))
        (gradient,) = torch.autograd.grad(loss, [weight])
        with torch.no_grad():
            weight -= 0.01 * gradient
        expected += float(likely[c]) * entropy()
        with torch.no_grad():
            weight.copy_(start)
    np.testing.assert_allclose(gained[row], before - expected, rtol=1e-5, atol=1e-10)


def test_embeddings_of_models():
    dataset, _ = inputs()

    class Gradients(activeft.embeddings.classification.HallucinatedCrossEntropyEmbedding, Model):
        def forward(self, x):
            return self.final_layer(self.logits(x))

    model = Gradients()
    x = dataset[:1]
    loss = torch.nn.functional.cross_entropy(model(x), model.predict(x))
    weight, bias = torch.autograd.grad(loss, [model.final_layer.weight, model.final_layer.bias])
    want = torch.cat([weight, bias[:, None]], 1).flatten()
    torch.testing.assert_close(model.embed(x)[0], want)

    class Tangent(activeft.embeddings.empirical_ntk.EmpiricalNTKEmbedding, torch.nn.Linear):
        pass

    linear = Tangent(16, 1)
    torch.testing.assert_close(linear.embed(dataset[:4]), torch.cat([dataset[:4], torch.ones(4, 1)], 1))


def test_the_readme_of_activeft():
    faiss = pytest.importorskip("faiss", reason="faiss is not installed; `crates/homing-py/test torch` runs these")
    from homing.compat.activeft.sift import Retriever

    torch.manual_seed(0)
    embeddings = torch.randn(1000, 768)
    index = faiss.IndexFlatIP(embeddings.size(1))
    index.add(embeddings.numpy())
    retriever = Retriever(index)
    query_embeddings = torch.randn(1, 768)
    indices = retriever.search(query_embeddings, N=10, K=1_000)
    data = embeddings[indices]
    assert data.shape == (10, 768)

    dataset, target = activeft.data.Dataset(embeddings), torch.randn(3, 768)
    data_loader = activeft.ActiveDataLoader.initialize(dataset, target, batch_size=64)
    batch = dataset[data_loader.next()]
    assert batch.shape == (64, 768)
    data_loader = activeft.ActiveDataLoader.initialize(dataset, target=None, batch_size=64)
    assert dataset[data_loader.next()].shape == (64, 768)
    data_loader = activeft.ActiveDataLoader(
        dataset, batch_size=64, acquisition_function=activeft.acquisition_functions.undirected_vtl.UndirectedVTL()
    )
    assert dataset[data_loader.next()].shape == (64, 768)


NO_ACTIVEFT = pytest.mark.skipif(importlib.util.find_spec("activeft") is None, reason="activeft is not installed")
MODULES = [module.name for module in pkgutil.iter_modules(functions.__path__) if not module.name.startswith("_")]


@NO_ACTIVEFT
@pytest.mark.parametrize("module", [f"acquisition_functions.{module}" for module in MODULES] + ["sift", "active_data_loader"])
def test_names_and_arguments_are_those_of_activeft(module):
    if module.endswith("mm_itl"):
        pytest.importorskip("wandb", reason="activeft's mm_itl imports wandb")
    theirs = importlib.import_module(f"activeft.{module}")
    ours = importlib.import_module(f"homing.compat.activeft.{module}")
    classes = [c for c in vars(theirs).values() if isinstance(c, type) and c.__module__ == theirs.__name__]
    compared = 0
    for theirs in classes:
        if theirs.__name__.endswith("State") or issubclass(theirs, tuple):
            continue
        compared += 1
        makers = [(theirs, getattr(ours, theirs.__name__))]
        if hasattr(theirs, "initialize") and module == "active_data_loader":
            makers.append((theirs.initialize, makers[0][1].initialize))
        for makes, made in makers:
            known = inspect.signature(made).parameters
            wanted = inspect.signature(makes).parameters
            assert list(known)[: len(wanted)] == list(wanted)
            for name, parameter in wanted.items():
                if parameter.default is not inspect.Parameter.empty:
                    assert known[name].default == parameter.default, name
    assert compared


@NO_ACTIVEFT
@pytest.mark.parametrize("name", [name for name in GOLDEN if not name.startswith("Cosine")])
def test_strict_is_activeft(name):
    """On data other than the golden numbers', picks and values equal those of activeft."""
    theirs = importlib.import_module("activeft")
    rule, _, noise = name.partition("/noise_std=")
    noise_std = None if noise == "None" else float(noise)
    modules = {"ITL": "itl", "VTL": "vtl", "CTL": "ctl", "UndirectedITL": "undirected_itl", "UndirectedVTL": "undirected_vtl"}
    function = getattr(importlib.import_module(f"activeft.acquisition_functions.{modules[rule]}"), rule)
    torch.manual_seed(1)
    dataset, target = torch.randn(300, 12), torch.randn(4, 12)

    class Data(theirs.data.Dataset):
        def __len__(self):
            return len(dataset)

        def __getitem__(self, i):
            return dataset[i]

    arguments = () if rule.startswith("Undirected") else (target,)
    want = theirs.ActiveDataLoader(Data(), 6, function(*arguments, noise_std=noise_std)).next()
    made = getattr(functions, rule)(*arguments, noise_std=noise_std, strict=True)
    indices, values = activeft.ActiveDataLoader(dataset, 6, made).next()
    # Single precision cannot resolve near ties, so the values are compared.
    np.testing.assert_allclose(values, want[1], rtol=2e-2, atol=2e-3)
    assert indices[0] == want[0][0]
