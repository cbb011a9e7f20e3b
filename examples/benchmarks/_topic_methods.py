"""Corpora, contenders and judges of the benchmark of topics."""

import contextlib
import gzip
import json
import os
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _report import Clock, Skip, peak_memory

__all__ = [
    "CORPORA", "FIRST_WORDS", "N_HELD_OUT", "OURS", "REFINED", "bits", "coherence", "compile_all",
    "contenders", "fitted", "folder", "parted", "topics_of",
]  # fmt: skip
N_HELD_OUT, N_SAMPLES = 100, 300
SHARE = 0.01  # of the frequencies of words in a topic
FIRST_WORDS = 10
OURS, REFINED = "DiscreteICA", "DiscreteICA, refined"


# ---- corpora -------------------------------------------------------------------------------------


def folder(name):
    """A folder of the data sets."""
    path = Path(os.environ.get("SKLEARN_FW_DATA", ""), name)
    if not path.is_dir():
        raise Skip(f"no {name}: set SKLEARN_FW_DATA to the folder that holds the data sets")
    return path


def newsgroups():
    """Counts of the words of 20 newsgroups, but for rare, very frequent and stop words."""
    from sklearn.feature_extraction.text import CountVectorizer

    with gzip.open(folder("20news") / "train.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    count = CountVectorizer(
        stop_words="english", min_df=10, max_df=0.3, token_pattern=r"(?u)\b[a-zA-Z]{3,}\b"
    )
    return sp.csr_array(count.fit_transform(texts)).astype(float)


def stored(name):
    """Counts as they are stored."""
    return sp.csr_array(sp.load_npz(folder("topics") / f"{name}.npz")).astype(float)


CORPORA = {
    "20 newsgroups": newsgroups,
    "AP": lambda: stored("ap"),
    "KOS": lambda: stored("kos"),
}


def parted(X, n_documents=None):
    """Documents to learn from, and some to judge by."""
    order = np.random.default_rng(0).permutation(X.shape[0])[:n_documents]
    return X[order[N_HELD_OUT:]], X[order[:N_HELD_OUT]]


# ---- contenders ----------------------------------------------------------------------------------


class GensimLDA:
    """Online variational inference of gensim, one pass."""

    def __init__(self, n_components):
        self.n_components = n_components

    def fit(self, X):
        from gensim.matutils import Sparse2Corpus
        from gensim.models import LdaModel

        model = LdaModel(
            Sparse2Corpus(sp.csr_matrix(X).astype(int), documents_columns=False),
            id2word={m: str(m) for m in range(X.shape[1])}, num_topics=self.n_components,
            random_state=0,
        )  # fmt: skip
        self.components_ = model.get_topics().astype(float)
        self.doc_topic_prior_ = model.alpha.astype(float)
        return self


class TomotopyLDA:
    """Collapsed Gibbs sampling of tomotopy, as many iterations as are given or its default."""

    def __init__(self, n_components, **settings):
        self.n_components, self.settings = n_components, settings

    def fit(self, X):
        import tomotopy

        model = tomotopy.LDAModel(k=self.n_components, seed=0)
        for start, stop in zip(X.indptr, X.indptr[1:]):
            words = np.repeat(X.indices[start:stop], X.data[start:stop].astype(int))
            if len(words):
                model.add_doc([str(m) for m in words])
        model.train(workers=1, **self.settings)
        found = np.array([model.get_topic_word_dist(k) for k in range(self.n_components)])
        self.components_ = np.zeros((self.n_components, X.shape[1]))
        self.components_[:, [int(word) for word in model.used_vocabs]] = found
        self.doc_topic_prior_ = np.asarray(model.alpha, dtype=float)
        return self


def contenders(n_topics):
    """Estimators by name; those of packages that are absent are left out."""
    from sklearn.decomposition import NMF, LatentDirichletAllocation

    from sklearn_fw.decomposition import DiscreteICA

    found = {
        OURS: DiscreteICA(n_topics, random_state=0),
        REFINED: DiscreteICA(n_topics, refine="vi", random_state=0),
        "LDA, batch": LatentDirichletAllocation(n_topics, random_state=0),
        "LDA, online": LatentDirichletAllocation(
            n_topics, learning_method="online", random_state=0
        ),
        "KL-NMF": NMF(n_topics, beta_loss="kullback-leibler", solver="mu", random_state=0),
    }
    if is_there("gensim"):
        found["gensim"] = GensimLDA(n_topics)
    if is_there("tomotopy"):
        found["tomotopy"] = TomotopyLDA(n_topics)
        found["tomotopy, 1,000 rounds"] = TomotopyLDA(n_topics, iterations=1000)
    return found


def is_there(package):
    from importlib.util import find_spec

    return find_spec(package) is not None


def compile_all(name, X):
    """Fit one contender to a few documents, so that nothing is compiled or loaded later."""
    model = contenders(3)[name]
    if name.startswith("tomotopy"):
        model = TomotopyLDA(3)
    fitted(model, X)


def fitted(model, X):
    """The model, the CPU seconds of its fit, and the MB by which its peak of memory rose."""
    before = reset_peak()
    with warnings.catch_warnings(), Clock() as clock:
        warnings.simplefilter("ignore")
        model.fit(X)
    return model, clock.cpu, peak_memory() - before


def reset_peak():
    """Memory of this process in MB, from which its peak counts anew where the system can do so."""
    with contextlib.suppress(OSError):  # else what rises may have been hidden by what was higher
        Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()


# ---- judges --------------------------------------------------------------------------------------


def coherence(X, topics, n_words=FIRST_WORDS):
    """Mean normalised pointwise mutual information of pairs of first words."""
    present = (X > 0).astype(float).tocsc()
    values = []
    for topic in topics:
        words = present[:, np.argsort(-topic)[:n_words]]
        shares = (words.T @ words).toarray() / X.shape[0]
        alone = shares.diagonal()
        pairs = np.triu_indices(n_words, 1)
        together, apart = shares[pairs], np.outer(alone, alone)[pairs]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(together / apart) / -np.log(together)
        values.append(np.where(together > 0.0, found, -1.0).mean())
    return float(np.mean(values))


def topics_of(model):
    """Rows of probabilities."""
    return model.components_ / model.components_.sum(axis=1, keepdims=True)


def bits(model, X, held_out):
    """Bits per token of documents held out: by Chib's estimator, and by the evidence bound.

    Words have the same small share of the frequencies of the corpus in all topics.
    """
    from sklearn_fw.decomposition import chib_log_likelihood
    from sklearn_fw.decomposition._posterior import bounds, infer

    topics, prior = topics_of(model), np.asarray(model.doc_topic_prior_, dtype=float)
    prior = np.array(np.broadcast_to(prior, len(topics)))
    frequencies = np.asarray(X.sum(axis=0)).ravel() + 1.0
    topics = (1.0 - SHARE) * topics + SHARE * frequencies / frequencies.sum()
    chib = chib_log_likelihood(held_out, topics, prior, n_samples=N_SAMPLES, random_state=0)
    columns = np.ascontiguousarray(topics.T)
    bound = bounds(held_out, columns, prior, infer(held_out, columns, prior))
    scale = 1.0 / (held_out.sum() * np.log(2.0))
    return float(chib.sum() * scale), float(bound.sum() * scale)
