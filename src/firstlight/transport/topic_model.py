"""A topic model: a Wasserstein autoencoder whose topic proportions follow a prior by a tree-sliced Sobolev distance.

An encoder turns the words of a document into scores of K topics, θ = softmax(scores) are its topic proportions, and a
decoder turns θ back into words. The prior is kept by optimal transport instead of a likelihood (Nan, Ding, Nallapati,
Xiang 2019; with tree-sliced distances Tran et al. 2026). Over each batch the loss is

    - Σ_documents ⟨x, log softmax(decode(θ))⟩ + β λ TS_p(θ, prior draws),  λ = 5 s log₂ V,

where s is the mean sum of a document's entries and V the size of the vocabulary.
"""

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float32, Float64
from torch import Tensor

from firstlight.errors import InvalidInput, MissingExtra
from firstlight.terminal import console
from firstlight.transport.averaging import sharpness
from firstlight.transport.sobolev_tree import check_order
from firstlight.transport.tree_sampling import sample_tree_system
from firstlight.transport.tree_sliced import tree_sliced_sobolev

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data
except ModuleNotFoundError as error:
    raise MissingExtra("sklearn", "transport") from error

HIDDEN = (1024, 512)  # widths of the encoder's layers, the latter also of the decoder's


class WAETopicModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Topics of documents by a Wasserstein autoencoder, used like ``LatentDirichletAllocation``.

    Parameters
    ----------
    n_components : int
        Number of topics.
    p : float
        Order of the tree-sliced Sobolev distance, at least 1.
    n_trees, n_lines, delta
        As in `tree_sliced_sobolev`; new trees are drawn for every batch.
    prior : {"dirichlet", "gaussian"}
        Distribution of topic proportions: a symmetric Dirichlet with parameter 0.1, which lets a document have few
        topics, or the softmax of a standard Gaussian.
    beta : float
        Weight of the distance to the prior.
    distance : callable, optional
        Another distance between topic proportions and prior draws, two tensors of shape (batch, n_components), in
        place of the tree-sliced one, as ``lambda x, y: ot.sliced_wasserstein_distance(x, y)``.
    dropout : float
        Share of hidden units left out in training.
    learning_rate : float
        Learning rate of Adam.
    batch_size : int
        Documents in each step.
    max_iter : int
        Number of passes over the documents.
    random_state : int, RandomState instance or None
        Where all random numbers of ``fit`` come from.
    verbose : bool
        Print the loss of each pass.

    Attributes
    ----------
    components_ : ndarray, shape (n_components, n_words)
        Topics as distributions over words: the decoder's answer to a document of that topic alone.
    loss_curve_ : list of float
        Mean loss per document of each pass.
    n_iter_ : int
        Passes that were run.
    n_features_in_ : int
        Size of the vocabulary.
    network_ : torch.nn.Module
        The trained autoencoder.

    Notes
    -----
    Documents come as counts or, as in the paper's experiments, as TF-IDF; see the example.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfTransformer
    >>> counts = np.kron(np.eye(2, dtype=int), np.ones((20, 5), int))  # two kinds of documents, five words each
    >>> model = WAETopicModel(n_components=2, n_trees=10, max_iter=20, batch_size=20, random_state=0)
    >>> proportions = model.fit_transform(TfidfTransformer().fit_transform(counts))
    >>> proportions.shape
    (40, 2)
    >>> sorted(sorted(words) for words in model.topics(list("abcdefghij"), n_words=5))
    [['a', 'b', 'c', 'd', 'e'], ['f', 'g', 'h', 'i', 'j']]
    """

    components_: Float64[np.ndarray, "topics words"]
    network_: "Autoencoder"
    n_features_in_: int

    def __init__(  # without types: scikit-learn's rule is that anything may be set and ``fit`` is what checks
        self,
        n_components=10,
        *,
        p=2.0,
        n_trees=100,
        n_lines=20,
        delta=2.0,
        prior="dirichlet",
        beta=1.0,
        distance=None,
        dropout=0.5,
        learning_rate=1e-3,
        batch_size=64,
        max_iter=100,
        random_state=None,
        verbose=False,
    ):
        self.n_components = n_components
        self.p = p
        self.n_trees = n_trees
        self.n_lines = n_lines
        self.delta = delta
        self.prior = prior
        self.beta = beta
        self.distance = distance
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> "WAETopicModel":
        """Learn topics. Ctrl-C ends it early, with a warning, and leaves a model of what was learnt by then.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_documents, n_words)
            Counts or TF-IDF weights, at least 0.
        y : ignored.

        Raises
        ------
        ValueError
            If an option is out of its range, or an entry of `X` is negative or not a finite number.
        """
        self._check_options()
        documents = self._documents(X, reset=True)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        # The weights and the dropout use PyTorch's global generator, which is put back afterwards.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**31)))
            self.network_ = Autoencoder(self.n_features_in_, self.n_components, self.dropout)
            try:
                self._train(documents, rng)
            except KeyboardInterrupt:
                warnings.warn(f"stopped after {self.n_iter_} passes; the model is what was learnt so far", stacklevel=2)
        self.network_.eval()
        with torch.no_grad():
            topics = self.network_.decode(torch.eye(self.n_components)).double().softmax(dim=1)
        self.components_ = topics.numpy()
        return self

    def transform(self, X: Any) -> Float32[np.ndarray, "documents topics"]:
        """Return the topic proportions of documents; every row sums to 1.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_documents, n_words)
            Documents, weighted as those of ``fit``.
        """
        check_is_fitted(self)
        documents = self._documents(X, reset=False)
        with torch.no_grad():
            parts = [
                self.network_.encode(_dense(documents[first : first + 1024])).softmax(dim=1)
                for first in range(0, len(documents.indptr) - 1, 1024)
            ]
        return torch.cat(parts).numpy()

    def topics(self, vocabulary: Sequence[str], n_words: int = 10) -> list[list[str]]:
        """Return the most probable words of each topic, the most probable first.

        Parameters
        ----------
        vocabulary : the word of each column, as from ``CountVectorizer.get_feature_names_out()``.
        n_words : how many.

        Raises
        ------
        InvalidInput
            If there is not one word per column, or fewer words than asked for.
        """
        check_is_fitted(self)
        if len(vocabulary) != self.n_features_in_:
            raise InvalidInput(f"the model knows {self.n_features_in_} words, the vocabulary has {len(vocabulary)}")
        if not 1 <= n_words <= len(vocabulary):
            raise InvalidInput(f"n_words must lie between 1 and {len(vocabulary)}, got {n_words}")
        best = np.argsort(-self.components_, axis=1, kind="stable")[:, :n_words]
        return [[str(vocabulary[word]) for word in topic] for topic in best]

    def _check_options(self) -> None:
        for name in ("n_components", "n_trees", "n_lines", "batch_size", "max_iter"):
            count = getattr(self, name)
            if not isinstance(count, Integral) or count < 1:
                raise InvalidInput(f"{name} must be a whole number of at least 1, got {count!r}")
        check_order(self.p)
        sharpness(self.delta, "distance")
        if self.prior not in ("dirichlet", "gaussian"):
            raise InvalidInput(f"prior must be 'dirichlet' or 'gaussian', got {self.prior!r}")
        if not (self.beta >= 0 and 0 <= self.dropout < 1 and self.learning_rate > 0):
            raise InvalidInput(
                "expected beta of at least 0, dropout in [0, 1) and a positive learning_rate, "
                f"got beta={self.beta}, dropout={self.dropout}, learning_rate={self.learning_rate}"
            )

    def _train(self, documents: sp.csr_array, rng: np.random.Generator) -> None:
        n = len(documents.indptr) - 1
        optimizer = torch.optim.Adam(self.network_.parameters(), lr=self.learning_rate, fused=True)
        self.loss_curve_, self.n_iter_ = [], 0
        for epoch in range(self.max_iter):
            order, total = rng.permutation(n), 0.0
            for first in range(0, n, self.batch_size):
                batch = _dense(documents[order[first : first + self.batch_size]])
                scores = self.network_.encode(batch)
                proportions = scores.softmax(dim=1)
                misfit = -(batch * self.network_.decode(proportions).log_softmax(dim=1)).sum()
                weight = self.beta * 5 * batch.sum().item() / len(batch) * np.log2(self.n_features_in_)
                loss = misfit + weight * self._distance_to_prior(proportions, rng)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
            self.loss_curve_.append(total / n)
            self.n_iter_ += 1
            if self.verbose:
                console().print(f"pass {epoch + 1}: loss per document {total / n:.5g}")

    def _distance_to_prior(self, proportions: Tensor, rng: np.random.Generator) -> Tensor:
        batch, topics = proportions.shape
        if self.prior == "dirichlet":
            drawn = torch.from_numpy(rng.dirichlet(np.full(topics, 0.1), batch)).float()
        else:
            drawn = torch.from_numpy(rng.standard_normal((batch, topics))).float().softmax(dim=1)
        if self.distance is not None:
            return self.distance(proportions, drawn)
        center = np.full(topics, 1 / topics)  # the mean of either prior
        trees = sample_tree_system(center, self.n_trees, self.n_lines, seed=rng)
        return tree_sliced_sobolev(proportions, drawn, p=self.p, delta=self.delta, trees=trees)

    def _documents(self, X: Any, reset: bool) -> sp.csr_array:
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float32, np.float64])
        check_non_negative(X, whom="WAETopicModel")
        return sp.csr_array(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


class Autoencoder(torch.nn.Module):
    """Words to scores of topics and back.

    Parameters
    ----------
    words : size of the vocabulary.
    topics : number of topics.
    dropout : share of hidden units left out in training.
    """

    def __init__(self, words: int, topics: int, dropout: float) -> None:
        super().__init__()
        wide, narrow = HIDDEN
        linear, relu, leave_out = torch.nn.Linear, torch.nn.ReLU(), torch.nn.Dropout(dropout)
        self.encode = torch.nn.Sequential(
            linear(words, wide), leave_out, relu, linear(wide, narrow), leave_out, relu, linear(narrow, topics)
        )
        self.decode = torch.nn.Sequential(linear(topics, narrow), leave_out, relu, linear(narrow, words))


def _dense(documents: sp.csr_array) -> Float32[Tensor, "documents words"]:
    return torch.from_numpy(documents.toarray()).float()
