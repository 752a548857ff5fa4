"""Collections of short texts for topic models, read from folders as OCTIS keeps them, and how coherent topics are."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool

from firstlight.errors import InvalidInput, MissingExtra

PARTS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Corpus:
    """Preprocessed documents.

    Attributes
    ----------
    documents : the words of each document.
    vocabulary : all words, in the order of the columns of `counts`.
    parts : "train", "val" or "test" for each document.
    labels : the class of each document; empty where there are none.
    """

    documents: list[list[str]]
    vocabulary: list[str]
    parts: list[str]
    labels: list[str]

    def part(self, name: str) -> Bool[np.ndarray, " documents"]:
        """Return which documents belong to a part."""
        return np.array(self.parts) == name

    def counts(self) -> sp.csr_array:
        """Count each word of the vocabulary in each document, shape (n_documents, n_words)."""
        column = {word: place for place, word in enumerate(self.vocabulary)}
        columns = [column[word] for document in self.documents for word in document]
        rows = np.repeat(np.arange(len(self.documents)), [len(document) for document in self.documents])
        shape = (len(self.documents), len(self.vocabulary))
        return sp.csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape=shape)


def read_corpus(folder: str | Path) -> Corpus:
    """Read a corpus of OCTIS: ``corpus.tsv`` (text, part and, optionally, label) and ``vocabulary.txt``.

    Parameters
    ----------
    folder : where the two files are.

    Raises
    ------
    InvalidInput
        If a line does not fit the format, a word is not in the vocabulary, or only some documents have labels.
    """
    folder = Path(folder)
    for name in ("corpus.tsv", "vocabulary.txt"):
        if not (folder / name).is_file():
            raise InvalidInput(f"{folder} holds no {name}; expected a corpus in the format of OCTIS")
    vocabulary = (folder / "vocabulary.txt").read_text(encoding="utf-8").split()
    known = set(vocabulary)
    if len(known) < len(vocabulary):
        raise InvalidInput(f"{folder / 'vocabulary.txt'} repeats words; every word stands for one column")
    documents, parts, labels = [], [], []
    lines = (folder / "corpus.tsv").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        entries = line.split("\t")
        where = f"{folder / 'corpus.tsv'}, line {number}"
        if len(entries) not in (2, 3) or entries[1] not in PARTS:
            raise InvalidInput(f"{where}: expected text, part (train, val or test) and maybe label, parted by tabs")
        words = entries[0].split()
        if strange := next((word for word in words if word not in known), None):
            raise InvalidInput(f"{where}: {strange!r} is not in vocabulary.txt")
        documents.append(words)
        parts.append(entries[1])
        labels += entries[2:]
    if not documents:
        raise InvalidInput(f"{folder / 'corpus.tsv'} holds no documents")
    if labels and len(labels) < len(documents):
        raise InvalidInput(f"{folder / 'corpus.tsv'}: {len(labels)} of {len(documents)} documents have labels")
    return Corpus(documents, vocabulary, parts, labels)


def topic_coherence(topics: Sequence[Sequence[str]], documents: Sequence[Sequence[str]], measure: str = "c_v") -> float:
    """Coherence of topics: do their words occur together in documents? Measured by gensim, which knows no model.

    Parameters
    ----------
    topics : the words of each topic, all of which count.
    documents : the words of each document.
    measure : "c_v" (Röder, Both, Hinneburg 2015), or another of ``gensim.models.CoherenceModel``.

    Returns
    -------
    The mean over topics; for "c_v" at most 1.

    Raises
    ------
    InvalidInput
        If a word of a topic occurs in no document.
    MissingExtra
        If gensim is not installed.
    """
    try:
        from gensim.corpora import Dictionary
        from gensim.models import CoherenceModel
    except ModuleNotFoundError as error:
        raise MissingExtra("gensim", "transport") from error
    dictionary = Dictionary(documents)
    if unseen := next((word for topic in topics for word in topic if word not in dictionary.token2id), None):
        raise InvalidInput(f"{unseen!r} is a word of a topic but of no document; coherence is counted in documents")
    model = CoherenceModel(
        topics=[list(topic) for topic in topics],
        texts=documents,
        dictionary=dictionary,
        coherence=measure,
        topn=max(map(len, topics)),
        processes=1,
    )
    return float(model.get_coherence())


def topic_diversity(topics: Sequence[Sequence[str]]) -> float:
    """Share of different words among the words of all topics (Dieng, Ruiz, Blei 2020); 1 if no word repeats."""
    words = [word for topic in topics for word in topic]
    return len(set(words)) / len(words)
