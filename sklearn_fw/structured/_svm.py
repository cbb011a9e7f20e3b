"""The structured support vector machine."""

from dataclasses import KW_ONLY
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.blocks import blockwise, is_collection, refuse_collection
from .._core.budget import time_budget
from .._core.callbacks import FitTasks, with_callbacks
from .._core.loop import drive, get_logger
from .._core.packed import joined
from .._core.warnings import warn
from .._kernels import lazy
from ._advice import other_help, warn_of_budget, warn_of_oracle
from ._choice_of_c import cautious_C, choose_C, most_passes
from ._collections import problem_of
from ._models._black_box import dense, view_of
from ._models._resolve import known_of, resolve_model
from ._models._units import Units
from ._path import kind_of_path, structured_path
from ._predictor import StructuredPredictor, offered
from ._solvers import GROWING, begin, has_radius, resolve_solver, suitable_solver, with_bounds_of
from ._suboptimality import suboptimality
from ._surrogates import SURROGATES, check_trains, resolve_surrogate

block_rules = lazy("structured.block_rules")

COPIES = 100.0  # that a weight may stand for; what is larger has another unit


class StructuredSVM(StructuredPredictor):
    """Support vector machine for structured outputs, with a certified duality gap.

    Minimizes, with ``lam = 1 / (C n)`` and weights s_i (``sample_weight``, one by default)::

        lam / 2 |w|^2 + sum_i s_i max_y [ L(y_i, y) - <w, phi(x_i, y_i) - phi(x_i, y)> ] / sum_i s_i

    or, with another ``surrogate``, ``log sum_y exp`` in place of the maximum over y: a conditional
    random field, whose probabilities `predict_marginals` gives.

    Choose it for outputs that are sequences, sets of labels or anything else whose best value an
    oracle can find; with class labels it is a drop-in classifier.

    Parameters
    ----------
    model : {"auto", "multiclass", "multilabel", "chain", "graph", "graph_cut", "grid", \
            "matching", "tree_pose", "box", "enumerated"} or object, default="auto"
        Feature map and task loss. "auto" looks at X and y: class labels, a 0/1 matrix, or lists of
        label sequences, of graphs with labels of nodes, or of grids of labels. Names stand for
        models with their defaults. An object with the methods of `StructuredModel` is a model, too.
    task_loss : "auto", str, array-like of shape (n_classes, n_classes), callable or TaskLoss, \
            default="auto"
        Loss instead of the model's own, which "auto" keeps, see the model: "hamming",
        "hamming_sum", "zero_one", a matrix of costs, or an object of `sklearn_fw.task_losses`.
    class_weight : dict, "balanced" or None, default=None
        Factors of the losses by true label, hence of the margins, in training only; None leaves
        those of the model.
    surrogate : {"hinge", "crf", "softmax_margin"}, default="hinge"
        Loss that training minimizes. "hinge" is the maximum over outputs of task loss and margin.
        "crf" is the negative log-likelihood with ``p(y) ~ exp(<w, phi(x, y)>)``, without the task
        loss; "softmax_margin" adds the task loss to these scores. Both need an oracle with
        marginals.
    oracle : {"auto", "viterbi", "tree", "enumeration"}, object or callable, default="auto"
        Inference on the scores of the model, see `sklearn_fw.inference`. "auto" is the model's
        own, which a model without scores needs.
    solver : str or solver object, default="auto"
        "auto" makes exact steps ("sdm") where an output is one class, else steps of "bcfw" in a
        fresh permutation per pass, with ``averaging="auto"``; for other losses than the hinge it
        is "dual_ascent" (`DualAscent`). For all losses: "casimir" (`Casimir`), "svrg";
        for the hinge: "bcfw", "bcpfw", "bcafw", "bchybrid", "cached", "sdm" (see
        `BlockFrankWolfe`), "fw", "minibatch", "one_slack", "n_slack", "extragradient",
        "subgradient", "perceptron"; "sp_fw", "sp_bcfw" (`SaddlePointFrankWolfe`) bound the norm of
        w instead of the penalty; an object for other settings, which are then grid keys
        ``solver__sampling``.
    C : float or "auto", default="auto"
        Weight of the sum of losses against the regularizer, as in `sklearn.svm.LinearSVC`. "auto"
        chooses on samples held out, see the notes. Solvers with a ``radius`` do not use it.
    feature_scale : "auto", float, array-like of shape (n_features,) or None, default="auto"
        Divisor of features in the fit, which ``C`` refers to; `coef_` is for X as given. One number
        per column also centers columns that are zero in less than half of the rows, where an
        intercept, or start and transitions of a chain, make up for it. "auto" is None if ``C`` is
        given, see the notes. To repeat a fit, pass ``C=svm.C_, feature_scale=svm.feature_scale_``.
    edge_feature_scale : "auto", float or None, default="auto"
        The same for the features of edges.
    tol : float or "auto", default="auto"
        ``dual_gap_ <= tol * abs(objective_)`` ends the fit. "auto" is 0.01 for class labels and
        smooth surrogates, 0.1 for everything else.
    max_iter : int or "auto", default="auto"
        Passes over the data. "auto" is 200, more where passes are compiled and short, and for
        graphs with cycles what takes about ten seconds, 10 at least.
    time_limit : float or None, default=None
        Seconds after which no new pass starts; the choice of C takes half of them at most.
    n_jobs : int or None, default=None
        Workers for gap passes, and for all oracle calls of "minibatch", "one_slack" and "n_slack":
        threads where the oracle is compiled or has ``releases_gil``, joblib workers otherwise. For
        `BlockFrankWolfe` with compiled oracles also threads of long passes; see the notes.
    warm_start : bool, default=False
        Start from the dual variables of the previous fit on the same outputs.
    random_state : int, RandomState instance or None, default=None
        Visiting order. Runs with the same value are identical, with ``n_jobs=None`` or 1.
    verbose : int, default=0
        Log one line per certificate to the logger "sklearn_fw".

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,), or CSR of shape (1, n_weights)
        Weights of the joint feature, see `feature_weights`; CSR after `sparsify`.
    temperature_ : float
        Divisor of scores in `predict_marginals`. With the hinge, ``C="auto"`` chooses that of
        classes on the samples that it holds out; else it is 1 until `calibrate` chooses it.
    model_, oracle_, solver_ : object
        The model, oracle (None if the model's own) and solver used.
    classes_ : ndarray
        Labels, if the model has them.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, if the model has them; column names of a data frame.
    C_, tol_, lam_ : float
        The values that were used; lam is 1 / (C n).
    feature_scale_, edge_feature_scale_ : float or ndarray of shape (n_features,), float
        Divisors of features and edge features; ``C_`` and the objective are in these units.
    task_loss_ : str, array-like, callable or TaskLoss
        The loss of the training, if the model has it.
    dual_gap_ : float
        Certified gap at ``coef_``; None for solvers without one, inf without bounds of the oracle.
    objective_, dual_objective_ : float
        Primal and dual value at ``coef_``; the former is an estimate where the gap is inf.
    block_gaps_ : ndarray of shape (n_samples,)
        Part of each sample in the gap, when last measured; None without duals.
    dual_coef_ : list of dict or None
        alpha of every output in use, per sample, if the solver keeps them.
    n_iter_, n_oracle_calls_ : int
        Passes, and oracle calls with those of gap passes.
    step_counts_ : dict of str to int
        Steps by kind: "fw", "pairwise", "away" and, among them, "drop"; "exact" visits.
    cache_stats_ : dict of str to int
        "hits" and "misses" of the cache, and failures by criterion ("local", "global").
    converged_ : bool
        Whether ``dual_gap_ <= min(tol_, 0.1) * abs(objective_)``.
    status_ : str
        How the fit ended.
    history_ : dict of str to ndarray
        One entry per certificate: "n_iter", "time" (seconds), "n_oracle_calls", "objective",
        "dual_objective", "dual_gap", "estimated_gap"; solvers may have more.

    Warns
    -----
    ConvergenceWarning
        When the budget ends first, with a remedy; not with ``tol=0``.
    RuntimeWarning
        When the oracle turns out not to be exact.

    See Also
    --------
    regularization_path : All values of C at once, with a guarantee.
    StructuredSVMCV : Choice of C by cross-validation along the path.
    sklearn.svm.LinearSVC : One label per sample.

    Notes
    -----
    ``C="auto"`` tries 0.5, 2, 8, 32 and 128 times ``largest loss / squared norm of the features``,
    both means over samples, on a hold-out set; weights with a mean below 1 are divided by it, those
    with one above 100 by a hundredth of it. It takes the value nearest to 2 within half a
    standard error of the best mean loss; larger values are left out once two are worse, or where
    few passes leave a wide gap. Factors for black boxes are four times as large. Fewer than 20
    samples with 1,000 nodes are cut into about 20 connected pieces; copies of a row or graph are
    held out together. Nothing is held out if that leaves too little, or nodes that are mostly
    copies, for oracles that are slow or of unknown cost, and for more than 75,000 nodes: then the
    factor is 2, and 8 for a black box. These oracle calls are not counted. "crf" and
    "softmax_margin" try 4 to 1024 times ``nodes with a label / squared norm of the features``, by
    the log-likelihood of the hold-out set; the usual factor is 16.

    ``feature_scale="auto"`` brings columns to one scale if their units differ, which it takes from
    sizes that differ by a factor above 30, on average and at most, or of over 2 % of the columns:
    it divides each by its standard deviation or, if most of its entries are zero, by the root mean
    square of the others. Means that make the norm of nodes over 3 times as large are taken off.
    It also divides by the power of two that brings the root mean square norm of a node near to 2,
    unless it is from 0.8 to 5 with tables of pairs of states, or from 0.8 to 64 with an intercept
    alone; ``edge_feature_scale="auto"`` does the same for edges with tables. So tables, intercepts
    and features are all learned.

    `fit` takes collections of Dask, too: arrays, data frames, bags, lists of delayed blocks, whose
    samples stay with the workers. "auto" is then "one_slack" or, for smooth losses,
    ``DualAscent(quasi_newton=True)``, which need sums over samples at one point alone: weights and
    ``dual_gap_`` are those of one process, but the rounds are as many as the passes of such
    methods, several times those of "bcfw". The model, the scales and ``C="auto"`` are found in
    samples of all blocks with about 30,000 nodes, all labels among them. Predictions of a
    collection are collections. `partial_fit`, paths and `duality_gap` need data in memory.

    More than 13 parameters: the scales belong to ``C``, whose value means nothing without them.

    A pass costs n oracle calls and one sparse update each; see `BlockFrankWolfe`. Features of type
    float32 stay so, all others become float64. Runs are reproducible bit by bit for a given
    ``random_state`` where passes run on one thread. On several threads the order of steps varies:
    results differ within ``dual_gap_``, which stays exact, and ``C="auto"`` may differ where two
    values are about equal. Passes of less than about 20 ms per thread run on fewer threads, and
    those over single class labels with more than 32,768 weights on one.

    References
    ----------
    .. [1] I. Tsochantaridis, T. Joachims, T. Hofmann, Y. Altun, "Large margin methods for
       structured and interdependent output variables", JMLR 6, 2005.
    .. [2] S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher, "Block-coordinate Frank-Wolfe
       optimization for structural SVMs", ICML 2013.
    .. [3] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania, S. Lacoste-Julien, "Minding the gaps
       for block Frank-Wolfe optimization of structured SVMs", ICML 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw import StructuredSVM
    >>> X = [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 0]], np.eye(3)[[1, 1]]]
    >>> y = [["a", "b", "c"], ["c", "a"], ["b", "b"]]
    >>> svm = StructuredSVM(random_state=0).fit(X, y)
    >>> [labels.tolist() for labels in svm.predict(X)]
    [['a', 'b', 'c'], ['c', 'a'], ['b', 'b']]
    >>> bool(svm.dual_gap_ <= svm.tol_ * svm.objective_)
    True
    """

    model: object = "auto"
    _: KW_ONLY
    class_weight: object = None
    surrogate: check.options(*SURROGATES) = "hinge"
    feature_scale: object = "auto"
    edge_feature_scale: object = "auto"
    n_jobs: int | None = None

    _iterations = "passes", "made", "duality gap"

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Train until the gap is small enough or the budget ends.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs, as the model takes them; or a collection of Dask, see the notes of the class.
        y : array-like, list, object array or Packed of n_samples outputs
            Outputs; a collection of the same blocks where X is one.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses; samples of weight zero are left out.

        Returns
        -------
        self : StructuredSVM
            The fitted estimator.
        """
        self._seen = None
        with time_budget(self.time_limit):
            return self._fit(X, y, sample_weight)

    @with_callbacks
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Train on further samples, from the dual variables and weights of the calls before.

        The objective is that of all samples so far, which the estimator keeps, with the scales and
        the ``C_`` of the first call. New samples join with all mass on their true outputs, which
        leaves the weights as they are. Each call makes passes as `fit` does; ``max_iter`` limits
        them. Choose it for labels that arrive in batches.

        Parameters
        ----------
        X, y : array-like, list, object array or Packed of length n_samples
            Further inputs and outputs, as in `fit`. Labels must be among those of the first call.
        classes : array-like of shape (n_classes,), default=None
            All class labels, for the first call if its ``y`` lacks some; multiclass models only.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses of these samples.

        Returns
        -------
        self : StructuredSVM
            The fitted estimator.
        """
        refuse_collection(X, "X")
        if hasattr(self, "coef_") and self._seen is None:
            raise ValueError(
                "partial_fit cannot go on from fit, which keeps no samples: call partial_fit for "
                "all batches, the first included, or fit with all samples"
            )
        self._seen = self._seen or ()
        with time_budget(self.time_limit):
            return self._fit(X, y, sample_weight, classes)

    _seen = None  # samples of all calls of `partial_fit`; empty before the first

    @property
    def _goes_on(self):
        """Whether a later call starts from this fit."""
        return self.warm_start or self._seen is not None

    @property
    def _kept(self):
        """Export of the fit to go on from; None where there is none."""
        return getattr(self, "_warm", None) if self._goes_on else None

    def _fit(self, X, y, sample_weight, classes=None):
        blocks, lam = self._make_blocks(X, y, sample_weight, classes)
        self.tol_ = self._resolve_tol()
        max_iter = self._most_passes(blocks)
        rng = check.random_state(self.random_state)
        warm = self._kept
        if self._seen is not None and not isinstance(self.solver_, GROWING):
            raise ValueError(
                f"partial_fit needs one of {', '.join(kind.__name__ for kind in GROWING)} as "
                f"solver, got {type(self.solver_).__name__}: or call fit with all samples"
            )
        if self._seen is not None and warm is not None:  # at the same C the weights stay
            warm = warm | {"grows": True, "lam": lam * (self.C_ / warm["C"])}
        if has_radius(self.solver_) and not check.is_auto(self.C):
            warn(
                f"C={self.C} is not used: {type(self.solver_).__name__} bounds the norm of the "
                f"weights by radius={self.solver_.radius} instead"
            )
        blocks.relative_tol = True
        method = begin(self.solver_, blocks, lam=lam, tol=self.tol_, rng=rng, warm=warm)
        tasks = FitTasks(self, X, y, max_subtasks=max_iter, sample_weight=sample_weight)
        outcome = drive(
            method, tol=self.tol_, max_iter=max_iter, relative_to="objective",
            verbose=self.verbose, **tasks.hooks(lambda: self._snapshot(method)),
        )  # fmt: skip
        self._store(method, blocks, outcome)
        tasks.finish()
        return self

    def _make_blocks(self, X, y, sample_weight, classes=None):
        """Resolve model, oracle and solver, check the data and set up the dual problem."""
        if is_collection(X):
            return problem_of(self, X, y, sample_weight)
        return self._set_up(*self._training_set(X, y, sample_weight, classes))

    def _find_model(self, X, y):
        return resolve_model(self.model, X, y, self.task_loss, self.class_weight)

    @property
    def _view(self):
        return view_of(self.model_)

    def _training_set(self, X, y, sample_weight, classes=None, counts=None):
        """Resolve model and solver, and check the data: samples and weights as the model is fit.

        ``counts`` of labels, where given, balance classes.
        """
        self.solver_ = resolve_solver(self.solver)
        if not check.is_auto(self.solver):
            check_trains(self.solver_, resolve_surrogate(self.surrogate))
        earlier = self._seen
        if not earlier:
            self.model_ = self._find_model(X, y)
            if counts:
                n = sum(counts.values()) / len(counts)
                self.model_.set_params(class_weight={k: n / own for k, own in counts.items()})
        found = self._view._samples(self, X, y, sample_weight, reset=not earlier)
        found = tuple(map(joined, earlier, found)) if earlier else found
        self._seen = None if earlier is None else found
        X, y, weight = found
        X, y = self._view._stacked(X, y)
        if not earlier:
            if not (classes is None or hasattr(self.model_, "decision_function")):
                raise ValueError("classes is for class labels: y must hold all labels at first")
            more = [] if classes is None else [check.find_labels(classes, "classes")]
            labels = np.concatenate([y, *more]) if more else y
            getattr(self.model_, "initialize", lambda *_: None)(X, labels)
        for name in ("classes_", "n_features_in_", "task_loss_", "state_labels_"):
            if hasattr(self.model_, name):
                setattr(self, name, getattr(self.model_, name))
        return X, y, weight

    def _set_up(self, X, y, weight):
        total = weight.sum()
        self._set_units(X, weight)
        blocks = self._blocks_of(X, y, weight / total)
        if check.is_auto(self.solver):
            self.solver_ = suitable_solver(blocks)
        self.solver_ = with_bounds_of(self.solver_, self.model_)
        if not check.is_auto(self.C):
            self.C_, self.temperature_ = check.positive(self.C, "C"), 1.0
        elif self._kept is None:  # else those of the fit to go on from
            mean = total / len(weight)
            unit = mean / np.clip(mean, 1.0, COPIES)  # from one up weights are counts
            C, self.temperature_ = self._choose_C(blocks, X, y, weight / unit)
            self.C_ = C / unit
        self.lam_ = 1.0 / (self.C_ * total)
        return blocks, self.lam_

    def _set_units(self, X, weight):
        """Natural units go with a natural C; one that is given, or a radius, is for X as it is."""
        is_natural = check.is_auto(self.C) and not has_radius(self.solver_)
        scales = self.feature_scale, self.edge_feature_scale
        if self._kept is None:
            self._units = self._view._units_for(X, weight, *scales, is_natural)
            self.feature_scale_, self.edge_feature_scale_ = self._units[0], self._units[2]
        if not check.is_auto(self.C) and all(map(check.is_auto, scales)):
            self._view._warn_of_scale(X)
        self.model_ = self._view._in_units(self._units)

    def _as_given(self, w):
        """Weights of the fit for features as given, and the model of those."""
        return {"coef_": self._view._weights_as_given(w), "model_": self._view._in_units(Units())}

    def _resolve_tol(self):
        if not check.is_auto(self.tol):
            return float(self.tol)
        return 0.01 if resolve_surrogate(self.surrogate).smooth else self._view._usual_tol

    def _most_passes(self, blocks):
        if check.is_auto(self.max_iter):
            return most_passes(blocks)
        return check.integer(self.max_iter, "max_iter", 1)

    def _choose_C(self, blocks, X, y, weight):
        if getattr(self.solver_, "perceptron", False) or has_radius(self.solver_):
            return cautious_C(blocks), 1.0
        blocks = blocks.quick() if check.is_auto(self.oracle) else blocks

        def make_solver(blocks):
            return with_bounds_of(suitable_solver(blocks), self.model_)

        if self.verbose:
            get_logger(self.verbose).info("choosing C on held-out samples")
        return choose_C(self._view, make_solver, blocks, X, y, weight, self.random_state)

    def _blocks_of(self, X, y, weight):
        blocks, self.oracle_ = self._view._problem(X, y, weight, self.oracle, self.n_jobs)
        blocks.surrogate = resolve_surrogate(self.surrogate)
        return blocks

    _path_class, _regularization_path = kind_of_path, structured_path

    def _resolved(self, X, y):
        """With the scales that "auto" has on all data, for all parts of these; and the model."""
        found = clone(self)
        rows, _, weight = found._training_set(X, y, None)
        found._set_units(rows, weight)
        scale, _, edge_scale = found._units
        found = clone(self).set_params(feature_scale=scale, edge_feature_scale=edge_scale)
        return found, clone(found).set_params(model=self._find_model(X, y))

    def _snapshot(self, method):
        return self._fitted() | self._as_given(method.weights().copy())

    def _store(self, method, blocks, outcome):
        solution, counts = method.solution(), blocks.counts.tolist()
        certified = self.solver_.certified and blocks.certified
        vars(self).update(self._as_given(solution.w))
        self.dual_gap_ = solution.gap if blocks.certified or solution.gap is None else np.inf
        self.objective_, self.dual_objective_ = solution.primal, solution.dual
        self.block_gaps_ = solution.block_gaps
        self.dual_coef_ = blocks.dual_coef()
        self.n_oracle_calls_, hits = counts[block_rules.CALLS], counts[block_rules.HITS]
        kinds = {"fw": block_rules.FW, "pairwise": block_rules.PAIRWISE, "away": block_rules.AWAY}
        places = {name: block_rules.STEPS + kind for name, kind in kinds.items()}
        places |= {"drop": block_rules.DROPS, "exact": block_rules.EXACT_STEPS}
        self.step_counts_ = {name: counts[place] for name, place in places.items()}
        self.cache_stats_ = {
            "hits": hits, "misses": counts[block_rules.VISITS] - hits,
            "local": counts[block_rules.MISSED_LOCAL], "global": counts[block_rules.MISSED_GLOBAL],
        }  # fmt: skip
        status = self._set_end(outcome, certified)
        export = getattr(method, "export", blocks.export)
        self._warm = export() | {"C": self.C_} if self._goes_on and self.solver_.certified else None
        warn_of_oracle(blocks)
        if certified:
            warn_of_budget(self, status, other_help(self, blocks))

    def __getstate__(self):
        state = super().__getstate__().copy()
        if not self._goes_on:
            state.pop("_warm", None)
        if state.get("dual_coef_") is not None:  # skops stores no dicts with such keys
            state["dual_coef_"] = [(list(a), list(a.values())) for a in state["dual_coef_"]]
        return state

    def __setstate__(self, state):
        if state.get("dual_coef_") is not None:
            pairs = [zip(*a, strict=True) for a in state["dual_coef_"]]
            state = state | {"dual_coef_": [dict(a) for a in pairs]}
        super().__setstate__(state)

    # ---- predictions -----------------------------------------------------------------------------

    def _offers(self, method):
        model = known_of(getattr(self, "model_", self.model))
        other = {"decision_function": "score_samples", "predict_proba": "predict_marginals"}
        if method in other:
            if hasattr(model, "decision_function"):
                return True
            raise AttributeError(f"{method} exists for class labels only: call {other[method]}")
        if model is None or isinstance(model, type) or view_of(model)._offers(method):
            return True  # names: known after fit
        raise AttributeError(f"{method} needs a model with part scores, not {type(model).__name__}")

    def _check_X(self, X):
        if not hasattr(self, "coef_"):  # the check of scikit-learn costs more than a sentence
            check_is_fitted(self)
        return self._view._inputs(self, X)

    @offered("decision_function")
    @blockwise
    def decision_function(self, X):
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            One column per class; for two classes the score of the second minus the first.
        """
        X = self._check_X(X)
        scores = self.model_.decision_function(X, self.coef_)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @offered("predict_proba")
    @blockwise
    def predict_proba(self, X):
        """Probabilities of the classes, those of `predict_marginals`.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``, as sharp as ``temperature_``; for the hinge with a given C
            `calibrate` chooses it.
        """
        return self.predict_marginals(X)

    @offered("predict_relaxed")
    @blockwise
    def predict_relaxed(self, X):
        """Return node marginals of the linear relaxation, 0 or 1 where it is integral.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        marginals : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels, 2)
            Fractions of the states of each node, summing to one, in the order of ``classes_``; for
            sequences and graphs an object array of arrays of shape (n_nodes, n_classes).
        """
        X = self._check_X(X)
        self._need("predict_relaxed", "vertex")
        return self._view._relaxed(X, self.coef_, self.oracle_)

    # ---- other data --------------------------------------------------------------------------

    @offered("duality_gap")
    def duality_gap(self, X, y, sample_weight=None, *, max_iter=None):
        """Return a bound on the suboptimality of ``coef_`` for the problem of some data.

        The problem is that of `fit` with ``C = C_`` (or with the radius of the solver) and the
        fitted model. On the training data the bound is that of ``dual_gap_``; on others it bounds
        the gain of a fit on them. Costs n_samples oracle calls, and one or two times as many per
        pass.

        Parameters
        ----------
        X, y : array-like, list, object array or Packed of length n_samples
            Inputs, and true outputs of classes seen in fit.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses; samples of weight zero are left out.
        max_iter : int or None, default=None
            Largest number of passes of block-coordinate Frank-Wolfe, or of a solver with a radius;
            more passes give a smaller bound. They end once the true distance is at least nine
            tenths of it. None is that of ``max_iter="auto"``.

        Returns
        -------
        gap : float
            Objective at ``coef_`` less the best lower bound found on its minimum; inf where an
            oracle that is not exact gives no bounds.
        """
        check_is_fitted(self)
        return suboptimality(self, X, y, sample_weight, max_iter)

    # ---- sparse weights ----------------------------------------------------------------------

    def sparsify(self):
        """Convert ``coef_`` to sparse format, with equal predictions; return self.

        Choose it before a model with many features is stored or sent. A weight that is not zero
        takes 12 bytes instead of 8; `fit` and `densify` make all dense.
        """
        check_is_fitted(self)
        if not sp.issparse(self.coef_):
            self.coef_ = sp.csr_array(self.coef_.reshape(1, -1))
        return self

    def densify(self):
        """Convert ``coef_`` back to an array, as after `fit`; return self."""
        check_is_fitted(self)
        self.coef_ = dense(self.coef_)
        return self

    def feature_weights(self):
        """Return the weights by name, as a dict of arrays.

        For chains these are "features", "start", "end" and "transitions"; see ``unpack`` of the
        model.
        """
        check_is_fitted(self)
        if not hasattr(self.model_, "unpack"):
            raise AttributeError(f"{type(self.model_).__name__} has no method unpack: see coef_")
        return self.model_.unpack(dense(self.coef_))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = isinstance(self.n_jobs, Integral) and self.n_jobs != 1
        model = known_of(getattr(self, "model_", self.model))
        multi_label = getattr(model, "_multi_label", None)
        if multi_label is not None:
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_label=multi_label)
            tags.input_tags.two_d_array = True
            tags.target_tags.single_output = not multi_label
            tags.target_tags.multi_output = multi_label
        return tags
