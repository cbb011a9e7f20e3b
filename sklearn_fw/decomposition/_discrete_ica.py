"""Topics of counts by moments."""

import warnings
from dataclasses import KW_ONLY
from functools import partial

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.blocks import blockwise
from .._core.estimator import Estimator
from .._core.warnings import warn
from ._held_out import FEWEST, FIRST_SHARE, SHARES, HeldOut, smoothed
from ._moments import MUCH_NEGATIVE_MASS
from ._posterior import bounds, infer, refine_prior, refine_topics
from ._rows import as_counts, rows_of
from ._solution import FIXED_LENGTHS, estimate_prior, length_ratio, solve

# One topic of much negative mass is common in documents of people, several are a model that does
# not fit: this fraction of all topics.
MANY_TOPICS = 0.2
# The third moment is more nearly diagonal wherever topics came out near the true ones, and on all
# real corpora; with half as many topics too many it is less so.
MUCH_OFF_DIAGONAL = 0.15
PRIORS = ("auto", "average", "likelihood", "mean_variance", "tensor")


class DiscreteICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Topic model by the method of moments (discrete ICA or LDA).

    Counts are ``x_m ~ Poisson(sum_k a_k topics[k, m])`` with independent intensities a_k of any
    distribution; with gamma distributions this is latent Dirichlet allocation with document lengths
    that vary. The second moment, corrected for the noise of counts, is diagonal in the topics, and
    so is every projection of the third: the fit finds the basis in which all of them are as
    diagonal as possible. The topics converge to the true ones as documents are added.

    Parameters
    ----------
    n_components : int or "auto", default=10
        Number of topics K, at most that of words. "auto" takes the number of eigenvalues of the
        second moment that are larger than any when words are shuffled among documents, at most 100.
        Documents of more than 10 times the mean length are left out of the shuffle, so that a few
        do not decide.
    moments : {"auto", "gp", "lda", "generalized"}, default="auto"
        Cumulants ("gp"), for documents whose lengths vary; moments of latent Dirichlet allocation
        ("lda"), for lengths that hardly vary; or covariances under exponential weights instead of
        the third cumulant ("generalized"). "auto" takes "lda" for lengths of variance below 1.5
        times their mean, or of little variance and with little negative mass, else "gp".
    algorithm : {"jd", "spectral", "tpm"}, default="jd"
        Joint diagonalization of several projections; one random projection and its eigenvectors,
        faster and less accurate; or the tensor power method, which "generalized" has no tensor for.
    projections : "canonical" or int, default="canonical"
        Diagonalized projections: the K of the whitened coordinates, or a number of random ones.
    c0 : float or None, default=None
        Sum of the concentrations in LDA moments; None takes that of the most nearly diagonal ones.
    weighting : {"auto", "equal"}, default="auto"
        "equal" weights of documents as in the papers, or "auto": the length in LDA moments, and in
        cumulants the mean length over that of longer documents, so that a few do not decide.
    prior_estimator : {"auto", "tensor", "average", "mean_variance", "likelihood"}, default="auto"
        Source of the concentrations: the skewness of sources ("tensor"), its mean over projections
        ("average", that of the paper), the squared means of sources over their variances
        ("mean_variance", of cumulants alone), or the evidence bound of the documents
        ("likelihood"). "auto" maximizes the bound of a fifth of them, at most 1,000, set aside.
    refine : {None, "vi"}, default=None
        "vi" refines topics and prior by variational Bayes, with a learned Dirichlet prior of
        topics. It warns and refines nothing where that lowers the likelihood of a fifth of the
        documents, at least 30, that is set aside first.
    max_iter : int, default=100
        Largest number of passes of the refinement.
    tol : float, default=1e-4
        The refinement ends when a pass raises the evidence bound by less than this fraction of it.
    smoothing : "auto" or float, default="auto"
        Fraction of the corpus' own distribution of words in topics when documents are scored and
        refined: zeros in topics would forbid words. "auto" takes that of largest likelihood from
        0.01 to 0.999 together with an "auto" prior, else 0.01.
    batch_size : int, default=4096
        Rows that are worked on together.
    random_state : int, RandomState instance or None, default=None
        Source of random projections, of starts of the power method and of shuffled words.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Topics: probabilities of words, rows that sum to one, largest variance of the source first.
    doc_topic_prior_, concentration_ : ndarray of shape (n_components,), float
        Concentrations of topics in documents, and their sum.
    smoothing_ : float
        Fraction of the corpus' own distribution of words in topics in use.
    topic_word_prior_, c0_ : float or None
        Concentration of words in topics after a refinement, and sum of concentrations in LDA
        moments; else None.
    rate_, mean_doc_length_ : float
        Rate of the gamma distributions of intensities, and mean number of tokens.
    eigenvalues_ : ndarray of shape (n_components,)
        Largest eigenvalues of the second moment, descending; a large last one allows more topics.
    spectrum_ : ndarray of shape (at least n_components,)
        With ``n_components="auto"`` the eigenvalues among which it chose, those of cumulants, see
        `sklearn_fw.displays.ScreeDisplay`; else ``eigenvalues_``.
    noise_floor_ : float or None
        Largest eigenvalue of shuffled words of documents up to 10 times the mean length; None where
        the number of topics was given.
    whitening_, unmixing_ : ndarray of shape (n_components, n_features)
        Make the second moment the identity, and sources of standard deviation one from counts: the
        inverse of ``mixing_raw_``.
    mixing_raw_ : ndarray of shape (n_features, n_components)
        Topics as columns before negative entries are cut, times standard deviations of sources.
    source_variance_, source_skewness_ : ndarray of shape (n_components,)
        Variances of intensities, of proportions with LDA moments; and third cumulants of
        intensities over their standard deviations to the third power.
    negative_mass_ : ndarray of shape (n_components,)
        Fraction of the absolute values in ``mixing_raw_`` that was negative: near 0 if the model
        fits, one half for noise.
    off_diagonality_ : float
        Fraction of the squares of the projections that is left off the diagonals.
    history_ : dict of str to ndarray
        One entry per pass of the refinement, if there was one: "n_iter", and "lower", the bound on
        the log evidence of the training documents (with "likelihood", under the given topics).
    n_iter_, n_documents_used_ : int
        Sweeps of the joint diagonalization or iterations of the power method, and documents of
        positive weight, with LDA moments of three tokens at least.
    n_components_, n_features_in_, feature_names_in_ : int, int, ndarray of shape (n_features,)
        Numbers of topics and of words, and names of columns where all are strings.

    Warns
    -----
    UserWarning
        When the model does not fit: lengths that hardly vary, documents too short for LDA moments,
        much negative mass, a third moment far from diagonal, or held-out documents that are no more
        probable under the topics, or less after the refinement. The message names the remedy.

    Notes
    -----
    A fit costs O(nnz K) for the whitened rows, O(N K^3 + M K^3) for the third moment, and some ten
    products of the counts with a vector for each eigenvalue; memory is O(batch_size K + M K + K^3),
    and counts stay sparse. The refinement keeps N K numbers more.

    All projections come from one K x K x K tensor; projections on single words, JD(f) of the paper,
    cost M / K times as much and change no result. The centered formulas equal those of the paper
    without cancellation; its compact third cumulant (appendix) has a wrong bracket.

    References
    ----------
    .. [1] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Rethinking LDA: moment matching for
       discrete ICA", NIPS 2015: Algorithm 1.
    .. [2] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Beyond CCA: moment matching for multi-view
       models", ICML 2016: generalized covariances.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_topic_corpus
    >>> from sklearn_fw.decomposition import DiscreteICA
    >>> from sklearn_fw.metrics import topic_l1_error
    >>> data = make_topic_corpus(2000, 50, 3, random_state=0)
    >>> model = DiscreteICA(3).fit(data.X)
    >>> topic_l1_error(data.topics, model.components_) < 0.05
    True
    """

    n_components: check.auto_or(check.at_least(1)) = 10
    _: KW_ONLY
    moments: check.options("auto", "gp", "lda", "generalized") = "auto"
    algorithm: check.options("jd", "spectral", "tpm") = "jd"
    projections: check.auto_or(check.at_least(1), "an integer", words=("canonical",)) = "canonical"
    c0: check.optional(partial(check.between, least=1e-6, most=1e6)) = None
    weighting: check.options("auto", "equal") = "auto"
    prior_estimator: check.options(*PRIORS) = "auto"
    refine: check.optional(check.options("vi")) = None
    max_iter: int = 100
    tol: float = 1e-4
    smoothing: check.auto_or(check.within(0.0, 1.0, "left")) = "auto"
    batch_size: check.at_least(1) = 4096
    random_state: object = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.categorical = True  # whole numbers
        return tags

    def fit(self, X, y=None, sample_weight=None):
        """Learn topics.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of such batches
            Counts of words in documents, whole numbers that are not negative. A list of sparse
            matrices or arrays is a corpus in batches; a Dask array with one block of columns, or a
            list of delayed batches, is summed where Dask runs it, once per pass. Methods of a Dask
            array give Dask arrays.
        y : None
            Unused.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each document counts; not with batches.
        """
        if self.moments == "lda" and self.prior_estimator == "mean_variance":
            raise ValueError(
                'prior_estimator="mean_variance" needs cumulants: take moments="gp", or '
                'prior_estimator="tensor"'
            )
        if self.moments == "generalized" and self.algorithm == "tpm":
            raise ValueError('algorithm="tpm" needs a tensor: take "jd" with moments="generalized"')
        rng = check.random_state(self.random_state)
        rows = rows_of(self, {"X": X}, (True,), sample_weight, self.batch_size)
        solution = solve(self, rows, rng)
        moments, found, cube, W = solution[:4]
        self.components_ = found.topics.T
        self.eigenvalues_, self.whitening_ = solution.values, W
        self.spectrum_, self.noise_floor_ = solution.spectrum.all_values, solution.spectrum.floor
        self.unmixing_, self.mixing_raw_ = found.basis.T @ W, found.raw
        self.source_variance_, self.negative_mass_ = found.variance, found.negative_mass
        self.source_skewness_ = np.einsum("abc,ak,bk,ck->k", cube, *[found.basis] * 3)
        self.off_diagonality_, self.n_iter_ = solution.off_diagonality, solution.n_iter
        self.n_documents_used_, self.n_components_ = moments.n_rows, len(W)
        self.mean_doc_length_ = float(solution.plain.mean_length)
        self.c0_ = getattr(moments, "c0", None)
        self._unigram = solution.plain.unigram()
        self._warn_of_misfit(moments, solution.plain)
        self._find_prior(rows, solution)
        return self

    def _warn_of_misfit(self, moments, plain):
        if moments.n_short:  # of LDA moments
            warn(
                f"{moments.n_short} documents with fewer than three tokens do not count for "
                'moments="lda": moments="gp" uses them'
            )
        elif self.c0_ is None and self.refine is None and length_ratio(plain) < FIXED_LENGTHS:
            warn(
                "lengths of documents hardly vary, which biases cumulants: take "
                'moments="lda", or refine="vi"'
            )
        or_auto = "" if isinstance(self.n_components, str) else ' (or "auto")'
        advice = f"Take fewer n_components{or_auto}, more documents"
        advice += ', or refine="vi"' if self.refine is None else ""
        many = self.negative_mass_ > MUCH_NEGATIVE_MASS
        if np.mean(many) > MANY_TOPICS:
            warn(
                f"{np.sum(many)} of {len(many)} topics have a negative mass above "
                f"{MUCH_NEGATIVE_MASS}. {advice}"
            )
        elif self.off_diagonality_ > MUCH_OFF_DIAGONAL:
            warn(
                f"no basis makes the third moment diagonal: {self.off_diagonality_:.0%} of its "
                f"squares stay outside. {advice}"
            )

    def _find_prior(self, rows, solution):
        moments, found, cube, W = solution[:4]
        kind, is_lda = self.prior_estimator, self.c0_ is not None
        auto = isinstance(self.smoothing, str)
        share = self.smoothing_ = FIRST_SHARE if auto else float(self.smoothing)
        lower, settings = np.empty(0), {"tol": float(self.tol), "max_iter": int(self.max_iter)}
        self.topic_word_prior_ = held_out = None
        if check.is_auto(kind) or self.refine is not None:
            held_out = HeldOut(solution.plain, moments, W.T @ found.basis, found.topics)
        if check.is_auto(kind):
            self.smoothing_, prior = held_out.choose(SHARES if auto else (share,))
            if self.refine is None and not held_out.is_informative and self.n_components != 1:
                size = "fewer n_components" if len(W) > 1 else "a number for n_components"
                warn(
                    "documents set aside are no more probable than by the frequencies of words: "
                    f'take {size}, more or longer documents, or refine="vi"'
                )
        else:
            if kind == "likelihood":
                kind = "tensor" if is_lda else "mean_variance"
            prior = estimate_prior(kind, found, cube, W, moments.mean, self.c0_)
        if self.refine is not None:
            prior, lower = self._refined(rows, held_out, share, prior, settings)
        elif self.prior_estimator == "likelihood":
            prior, lower = refine_prior(rows, self._smoothed(), prior, **settings)
        self.history_ = {"n_iter": np.arange(1, len(lower) + 1), "lower": lower}
        self.doc_topic_prior_, self.concentration_ = prior, float(prior.sum())
        self.rate_ = self.concentration_ / self.mean_doc_length_

    def _refined(self, rows, held_out, share, prior, settings):
        value = held_out.value(held_out.smoothed(self.smoothing_), prior)
        start = held_out.fit(share)[1] if check.is_auto(self.prior_estimator) else prior
        with warnings.catch_warnings():  # the fit to all documents warns for itself
            warnings.simplefilter("ignore", ConvergenceWarning)
            topics = held_out.smoothed(share)
            distributions, trial, _ = refine_topics(held_out.rest, topics, start, **settings)
        reached = held_out.value(smoothed(distributions.mean(), held_out.unigram, share), trial)
        if reached < value and len(held_out.weight) >= FEWEST:
            bits = np.array([value, reached]) / (held_out.n_tokens * np.log(2.0))
            warn(
                f"refinement lowers the bits per token of documents set aside from {bits[0]:.4g} "
                f"to {bits[1]:.4g}: the topics of the moments are kept; take refine=None"
            )
            return prior, np.empty(0)
        self.smoothing_ = share
        distributions, prior, lower = refine_topics(rows, self._smoothed(), start, **settings)
        self.components_ = np.ascontiguousarray(distributions.mean().T)
        self.topic_word_prior_ = distributions.concentration
        return prior, lower

    def _smoothed(self):
        return smoothed(self.components_.T, self._unigram, self.smoothing_)

    @property
    def _n_features_out(self):
        return self.n_components_

    def _infer(self, X):
        check_is_fitted(self)
        X = check.data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        X = as_counts(X, "X", whole=False)
        topics = self._smoothed()
        return X, topics, infer(X, topics, self.doc_topic_prior_)

    @blockwise
    def transform(self, X):
        """Compute expected topic proportions, of shape (n_samples, n_components).

        A document without words gets the prior's.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts.
        """
        gamma = self._infer(X)[2]
        return gamma / gamma.sum(axis=1)[:, None]

    @blockwise
    def transform_intensities(self, X):
        """Expected intensities of topics, in tokens, of shape (n_samples, n_components).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts.
        """
        return self._infer(X)[2] / (self.rate_ + 1.0)

    def inverse_transform(self, X):
        """Multiply intensities or proportions with the topics: counts or word frequencies.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Intensities, or proportions, of topics.
        """
        check_is_fitted(self)
        return check.shaped(X, "X", "n_samples", self.n_components_) @ self.components_

    @blockwise
    def score_samples(self, X):
        """Compute lower bounds on the log probabilities of documents, in nats.

        Documents are sequences of tokens of known length. Returns an array (n_samples,).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts.
        """
        X, topics, gamma = self._infer(X)
        return bounds(X, topics, self.doc_topic_prior_, gamma)

    def score(self, X, y=None):
        """Sum of `score_samples`, in nats; larger is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts.
        y : None
            Unused.
        """
        return float(np.sum(self.score_samples(X)))

    def perplexity(self, X):
        """Upper bound on the geometric mean of one over the probability of a token.

        It comes from the bounds of `score_samples`; smaller is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts.
        """
        with np.errstate(over="ignore"):  # inf is the answer where nothing fits
            return float(np.exp(-np.log(2.0) * self.bits_per_token(X)))

    def bits_per_token(self, X):
        """Mean of the bounds of `score_samples` for each token, in bits, below zero.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts.
        """
        X, topics, gamma = self._infer(X)
        n_tokens = float(X.sum())
        if n_tokens == 0.0:
            raise ValueError("X has no words: all counts are zero")
        score = np.sum(bounds(X, topics, self.doc_topic_prior_, gamma))
        return float(score) / (n_tokens * np.log(2.0))
