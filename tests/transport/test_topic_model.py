"""The topic model is a well-behaved estimator that finds topics which are there."""

import pickle

import numpy as np
import ot
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from firstlight.errors import InvalidInput
from firstlight.transport import topic_model
from firstlight.transport.topic_model import WAETopicModel

SMALL = {"n_trees": 5, "n_lines": 3, "batch_size": 16, "random_state": 0}


@pytest.fixture(autouse=True)
def narrow_network(monkeypatch):
    """A network for small vocabularies: the tests are of the model, and seconds count."""
    monkeypatch.setattr(topic_model, "HIDDEN", (64, 32))


@parametrize_with_checks([WAETopicModel(2, max_iter=2, **SMALL)])
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def documents(n=90, words=30, topics=3, seed=0):
    """Counts of words; the words of each document come from one of several separate sets."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(topics, size=n)
    inside = kind[:, None] == np.arange(words) * topics // words
    return rng.poisson(np.where(inside, 2.0, 0.05)), kind


def fitted(**options):
    counts, kind = documents()
    easy = {"random_state": 1, "max_iter": 15, "learning_rate": 0.01, "dropout": 0.0, "batch_size": 30}
    model = WAETopicModel(3, **SMALL | easy | options)
    return model.fit(TfidfTransformer().fit_transform(counts)), counts, kind


def test_finds_topics_that_are_there():
    model, counts, kind = fitted()
    words = model.topics([str(word) for word in range(30)], n_words=10)
    assert {frozenset(int(word) // 10 for word in topic) for topic in words} == {frozenset([k]) for k in range(3)}
    proportions = model.transform(TfidfTransformer().fit_transform(counts))
    best = proportions.argmax(axis=1)
    assert all(len(set(best[kind == k])) == 1 for k in range(3))


def test_topics_and_proportions_are_distributions():
    model, counts, _ = fitted(max_iter=2)
    proportions = model.transform(counts)
    assert proportions.shape == (90, 3)
    np.testing.assert_allclose(proportions.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-9)
    assert len(model.loss_curve_) == model.n_iter_ == 2
    assert list(model.get_feature_names_out()) == ["waetopicmodel0", "waetopicmodel1", "waetopicmodel2"]


def test_the_distance_to_the_prior_pulls_proportions_towards_it():
    drawn = softmax(np.random.default_rng(0).standard_normal((400, 3)))

    def remoteness(beta):
        model, counts, _ = fitted(prior="gaussian", beta=beta)
        proportions = model.transform(TfidfTransformer().fit_transform(counts)).astype(float)
        return ot.emd2([], [], ot.dist(proportions, drawn))

    assert remoteness(20.0) < 0.5 * remoteness(0.0)


@pytest.mark.parametrize(("prior", "square"), [("dirichlet", (0.1 / 0.3) * 1.1 / 1.3), ("gaussian", None)])
def test_draws_of_the_prior_have_its_moments(prior, square):
    draws = []

    def distance(x, y):
        draws.append(y.numpy())
        return 0.0 * x.sum()

    WAETopicModel(3, prior=prior, distance=distance, max_iter=30, **SMALL).fit(documents()[0])
    drawn = np.concatenate(draws)
    if square is None:
        square = (softmax(np.random.default_rng(0).standard_normal((100_000, 3))) ** 2).mean()
    np.testing.assert_allclose(drawn.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(drawn.mean(axis=0), 1 / 3, atol=0.03)
    assert (drawn**2).mean() == pytest.approx(square, rel=0.06)


def softmax(scores):
    return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def test_loss_is_misfit_plus_weighted_distance():
    counts, _ = documents(16)
    seen = []

    def distance(x, y):
        seen.append((x.detach(), y))
        return 3.0 + 0.0 * x.sum()

    model = WAETopicModel(3, distance=distance, dropout=0.0, learning_rate=1e-12, max_iter=1, **SMALL).fit(counts)
    proportions, drawn = seen[0]
    assert proportions.shape == drawn.shape == (16, 3)
    x = torch.from_numpy(counts).float()
    with torch.no_grad():
        words = model.network_.decode(model.network_.encode(x).softmax(dim=1)).log_softmax(dim=1)
    weight = 5 * counts.sum() / 16 * np.log(30) / np.log(2)
    assert model.loss_curve_[0] == pytest.approx((-(x * words).sum().item() + 3 * weight) / 16, rel=1e-5)


def test_a_distance_of_pot_takes_its_place():
    model, _, _ = fitted(distance=lambda x, y: ot.sliced_wasserstein_distance(x, y, n_projections=20, seed=0))
    assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_the_same_random_state_gives_the_same_model_and_leaves_the_global_one_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first, again = fitted(max_iter=3)[0], fitted(max_iter=3)[0]
    assert torch.rand(1) == expected
    np.testing.assert_array_equal(first.components_, again.components_)
    assert not np.array_equal(first.components_, fitted(max_iter=3, random_state=2)[0].components_)


def test_sparse_and_dense_documents_give_the_same_model():
    counts, _ = documents()
    dense, sparse = (WAETopicModel(3, max_iter=2, **SMALL).fit(X) for X in (counts, sp.csr_array(counts)))
    np.testing.assert_array_equal(dense.components_, sparse.components_)
    np.testing.assert_array_equal(dense.transform(counts), sparse.transform(sp.csr_array(counts)))


def test_stands_in_a_pipeline_and_travels_by_pickle():
    texts = ["apple pear", "pear apple apple", "wheel road", "road road wheel"] * 5
    pipeline = make_pipeline(CountVectorizer(), TfidfTransformer(), WAETopicModel(2, max_iter=3, **SMALL)).fit(texts)
    proportions = pipeline.transform(texts)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(pipeline)).transform(texts), proportions)
    assert clone(pipeline)[-1].get_params()["n_components"] == 2


def test_ctrl_c_leaves_what_was_learnt():
    calls = []

    def distance(x, y):
        calls.append(None)
        if len(calls) == 15:  # batches: 6 in each pass
            raise KeyboardInterrupt
        return 0.0 * x.sum()

    with pytest.warns(UserWarning, match="stopped after 2 passes"):
        model = WAETopicModel(3, distance=distance, max_iter=9, **SMALL).fit(documents()[0])
    assert model.n_iter_ == len(model.loss_curve_) == 2
    assert model.transform(documents()[0]).shape == (90, 3)


def test_words_that_do_not_fit_are_refused():
    model, _, _ = fitted(max_iter=1)
    with pytest.raises(InvalidInput, match="knows 30 words, the vocabulary has 2"):
        model.topics(["a", "b"])
    with pytest.raises(InvalidInput, match="between 1 and 30, got 31"):
        model.topics([str(word) for word in range(30)], n_words=31)


@pytest.mark.parametrize(
    "change", [{"p": 0.5}, {"delta": -1.0}, {"dropout": 1.0}, {"prior": "flat"}, {"n_trees": 0}, {"max_iter": 2.5}]
)
def test_options_out_of_range_are_refused(change):
    with pytest.raises(InvalidInput, match=next(iter(change))):
        WAETopicModel(2, **SMALL | change).fit(documents()[0])


def test_negative_counts_are_refused():
    with pytest.raises(ValueError, match="Negative values"):
        WAETopicModel(2, max_iter=1, **SMALL).fit(-documents()[0])
