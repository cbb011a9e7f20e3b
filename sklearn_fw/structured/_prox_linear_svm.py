"""The structured support vector machine for scores that are not linear in the weights."""

from dataclasses import KW_ONLY

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.budget import time_budget
from .._core.callbacks import FitTasks, with_callbacks
from .._core.loop import drive
from .._core.packed import length_of
from ._advice import warn_of_budget, warn_of_oracle
from ._models._ragged import weighted_samples
from ._predictor import StructuredPredictor
from ._prox_linear._outputs import outputs_for
from ._prox_linear._scores import CheckedScores, TorchScores, as_score_model
from ._solvers import resolve_solver
from ._surrogates import HINGE, check_trains

TOL, MAX_ITER, USUAL_C = 0.05, 30, 0.1  # what "auto" stands for
LARGEST_LAM = 0.05  # of few samples: beyond it networks are drawn to zero


class ProxLinearStructuredSVM(StructuredPredictor):
    """Structured SVM with nonlinear scores, such as a neural network.

    With scores ``s(x, y; w)``, ``lam = 1 / (C n)`` and weights s_i (``sample_weight``, one by
    default), decreases::

        F(w) = lam / 2 |w|^2
               + sum_i s_i max_y [L(y_i, y) + s(x_i, y; w) - s(x_i, y_i; w)] / sum_i s_i

    which is not convex. Choose it where a linear model of good features is not good enough, and an
    output still needs an oracle: sequences, graphs, lists of candidates.

    Parameters
    ----------
    score_model : ScoreModel or torch.nn.Module
        Scores as a function of input and weights: an object with the methods ``init``, ``value``,
        ``jvp`` and ``vjp`` of `ScoreModel`, or a module of PyTorch that returns scores in one of
        the forms listed there, called with one input at a time.
    task_loss : "auto", str, array-like of shape (n_classes, n_classes), callable or TaskLoss, \
            default="auto"
        Loss of outputs. For candidates as `EnumeratedModel` takes it, 0 or 1 by default; for nodes
        "hamming", "hamming_sum", a matrix of costs or an object with costs of nodes. "auto" trains
        by the number of wrong labels and evaluates by their fraction.
    oracle : str, object or callable, default="auto"
        Inference, see `sklearn_fw.inference`. "auto" takes Viterbi's algorithm for chains, and what
        suits the graph for others.
    solver : str or solver object, default="auto"
        Solver of the convex models, without bounds on weights: "bcfw" and its variants, "cached",
        "sdm", "fw", "minibatch", "one_slack", "n_slack", or one of your own with a certificate.
        "auto" is "cached", or "bcfw" for a module that takes many samples at once.
    C : float or "auto", default="auto"
        Weight of the sum of losses against the regularizer. "auto" is 0.1, and 20 / n for fewer
        than 200 samples, so that lam is at most 0.05.
    eta : float or "auto", default="auto"
        Step size: models are kept near the current weights by ``|w - w_k|^2 / (2 eta)``. "auto"
        raises it while scores are nearly linear along the steps, and lowers it where a step does
        not decrease the objective as predicted. A number is halved when a step would raise it.
    tol : float or "auto", default="auto"
        ``dual_gap_ <= tol * objective_`` ends the fit. "auto" is 0.05.
    max_iter : int or "auto", default="auto"
        Most convex models. "auto" is 30.
    time_limit : float or None, default=None
        Seconds after which no new pass over a model starts.
    warm_start : bool, default=False
        Start from the weights of the previous fit, with its step size.
    random_state : int, RandomState instance or None, default=None
        First weights, unless a module has them, and visiting order. Runs with the same value are
        identical.
    verbose : int, default=0
        Log one line per convex model to the logger "sklearn_fw".

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        Weights.
    module_ : torch.nn.Module
        For a module: a copy with these weights, of its own precision.
    model_ : object
        The score model used.
    oracle_, solver_ : object
        Oracle and solver used.
    classes_ : ndarray
        Labels of the states of nodes, where outputs are labels of nodes.
    task_loss_ : str, array-like, callable or TaskLoss
        The loss of the training.
    C_, eta_, tol_, lam_ : float
        The values that were used; of eta the last one, and lam is 1 / (C n).
    objective_ : float
        F at ``coef_``.
    dual_objective_ : float
        Lower bound on the convex model at ``coef_``, not on F.
    dual_gap_ : float
        Largest possible decrease of the convex model at ``coef_``; zero where ``coef_`` is
        stationary, inf where the oracle is not exact and gives no bounds.
    temperature_ : float
        Divisor of scores in `predict_marginals`: 1 until `calibrate` chooses it.
    prox_gradient_norm_ : float
        Bound on the norm of ``(coef_ - argmin of the model) / eta_``, the measure of stationarity
        of [1]_, with the error of the inner solution added.
    n_iter_, n_oracle_calls_ : int
        Convex models, and oracle calls.
    converged_ : bool
        Whether ``dual_gap_ <= min(tol_, 0.1) * objective_``.
    status_ : str
        How the fit ended.
    history_ : dict of str to ndarray
        One entry per convex model: "n_iter", "time", "n_oracle_calls", "objective" (after it; never
        rises), "prox_gradient_norm" (where the model was made), "eta", "n_passes" (over it),
        "is_accepted" (whether its minimizer was taken), and where it was not "dual_objective" and
        "dual_gap".

    Warns
    -----
    ConvergenceWarning
        When the budget ends first.

    See Also
    --------
    StructuredSVM : Scores that are linear in the weights: faster, and with a global certificate.
    ScoreModel : The methods of a score model.

    Notes
    -----
    The prox-linear method [1]_ replaces the scores by their linear part at the current weights w_k.
    This gives a structured SVM with the rows of the Jacobian as features and the regularizer
    ``lam / 2 |w|^2 + |w - w_k|^2 / (2 eta)``. Its solution is taken if it lowers F, so that F never
    rises. A block-coordinate step takes one product with the Jacobian and one with its transpose. A
    model is solved until its certified gap is at most half of its decrease; [1]_ has a fixed
    sequence of tolerances. Samples whose inputs have one shape take steps of eight at a time where
    ``torch.func.vmap`` maps the module over its inputs. Scale the inputs.

    Modules are copied, computed in double precision on their device, and in evaluation mode.
    Frozen parameters stay frozen. Floating point arrays become tensors of double precision, whole
    numbers keep their type. Memory holds a vector of the size of the scores per sample.

    References
    ----------
    .. [1] K. Pillutla, V. Roulet, S. Kakade, Z. Harchaoui, "A smoother way to train structured
       prediction models", NeurIPS 2018: Algorithm 5 and Proposition 37 of the long version.
    .. [2] D. Drusvyatskiy, C. Paquette, "Efficiency of minimizing compositions of convex functions
       and smooth maps", Mathematical Programming 178, 2019.

    Examples
    --------
    Two labels of the nodes of a chain, with bounded scores:

    >>> import numpy as np
    >>> from sklearn_fw.structured import ProxLinearStructuredSVM, ScoreModel
    >>> class Bounded(ScoreModel):
    ...     def init(self, rng):
    ...         return rng.normal(size=8)
    ...     def value(self, x, w):
    ...         return np.tanh(x @ w[:4].reshape(2, 2)), w[4:].reshape(2, 2)
    ...     def jvp(self, x, w, d):
    ...         slope = 1 - self.value(x, w)[0] ** 2
    ...         return slope * (x @ d[:4].reshape(2, 2)), d[4:].reshape(2, 2)
    ...     def vjp(self, x, w, v):
    ...         slope = 1 - self.value(x, w)[0] ** 2
    ...         return np.concatenate([(x.T @ (slope * v[0])).ravel(), v[1].ravel()])
    >>> X = [np.array([[1.0, 1], [1, -1], [-1, 1]]), np.array([[-1.0, -1], [-1, 1]])]
    >>> y = [["yes", "yes", "no"], ["no", "no"]]
    >>> svm = ProxLinearStructuredSVM(Bounded(), C=10.0, random_state=0).fit(X, y)
    >>> [labels.tolist() for labels in svm.predict(X)]
    [['yes', 'yes', 'no'], ['no', 'no']]
    """

    score_model: object
    _: KW_ONLY
    eta: check.auto_or(check.positive) = "auto"

    surrogate = "hinge"  # what its models are made of
    _iterations = "convex models", "solved", "duality gap of the next one"

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Train until the weights are stationary or the budget ends.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs, as the score model takes them.
        y : array-like, list, object array or Packed of n_samples outputs
            Numbers of candidates or costs of all of them, as `EnumeratedModel` takes them, or
            sequences of the labels of nodes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses; samples of weight zero are left out.

        Returns
        -------
        self : ProxLinearStructuredSVM
            The fitted estimator.
        """
        with time_budget(self.time_limit):
            return self._fit(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        given, rng = (X, y), check.random_state(self.random_state)
        start = self.coef_ if self.warm_start and hasattr(self, "coef_") else None
        first_eta = None if start is None else self.eta_
        X, y, weight = weighted_samples(X, y, sample_weight)
        blocks, w = self._blocks(list(X), list(y), weight, start, rng)
        usual = max(USUAL_C, 1.0 / (LARGEST_LAM * weight.sum()))
        self.C_ = usual if check.is_auto(self.C) else float(self.C)
        self.tol_ = TOL if check.is_auto(self.tol) else float(self.tol)
        self.lam_ = 1.0 / (self.C_ * weight.sum())
        max_iter = MAX_ITER if check.is_auto(self.max_iter) else self.max_iter
        eta = None if check.is_auto(self.eta) else float(self.eta)
        from ._prox_linear._run import ProxLinear

        run = ProxLinear(
            blocks, self.solver_, w, lam=self.lam_, tol=self.tol_, eta=eta, rng=rng,
            first_eta=first_eta,
        )  # fmt: skip
        tasks = FitTasks(self, *given, max_subtasks=max_iter, sample_weight=sample_weight)
        outcome = drive(
            run, tol=self.tol_, max_iter=max_iter, relative_to="objective", verbose=self.verbose,
            **tasks.hooks(lambda: self._snapshot(run)),
        )  # fmt: skip
        self._store(run, blocks, outcome)
        tasks.finish()
        return self

    def _blocks(self, X, y, weight, start, rng):
        """Resolve score model, oracle and solver, and check the data: the samples, and a start."""
        from ._prox_linear._problem import LinearizedProblem

        self.solver_ = resolve_solver(self.solver)
        if not self.solver_.certified:
            raise ValueError(f"solver={self.solver!r} has no certificate: use 'bcfw' or 'fw'")
        check_trains(self.solver_, HINGE)
        sides = (getattr(self.solver_, f"{side}_bounds", None) for side in ("lower", "upper"))
        if self.solver_._needs_features or any(side is not None for side in sides):
            raise ValueError(
                f"solver={self.solver!r} is not for linearized scores: use 'bcfw' or 'fw', without "
                f"bounds on weights"
            )
        self.model_ = as_score_model(self.score_model)
        scores = CheckedScores(self.model_)
        if not isinstance(self.model_, TorchScores) and hasattr(self.model_, "get_params"):
            self.model_ = scores.model = clone(self.model_)  # what it learns stays in the fit
        getattr(self.model_, "initialize", lambda *_: None)(X, y)
        w = scores.init(rng)
        if start is not None:
            if start.shape != w.shape:
                raise ValueError(
                    f"warm_start=True needs the score model of the previous fit, which had "
                    f"{len(start)} weights and not {len(w)}: set warm_start=False"
                )
            w = np.array(start)
        layouts = [scores.value(i, x, w)[1] for i, x in enumerate(X)]
        self._view = outputs_for(scores, layouts, y, self.task_loss, self.oracle)
        self.oracle_, self.task_loss_ = self._view.oracle, self._view.task_loss_
        vars(self).pop("classes_", None)
        if hasattr(self._view, "classes_"):
            self.classes_ = self._view.classes_
        scores.check_derivatives(X[0], w, np.random.RandomState(0))
        groups = scores.groups(X, layouts, w)
        if check.is_auto(self.solver):
            # Outputs of many samples together are seldom met again.
            self.solver_ = resolve_solver("bcfw" if len(groups) < len(X) else "cached")
        return LinearizedProblem(scores, groups, self._view, weight / weight.sum(), len(w)), w

    def _snapshot(self, run):
        return self._fitted() | {"coef_": run.solution().copy(), "_view": self._view}

    def _store(self, run, blocks, outcome):
        certified, last = blocks.certified, outcome.history
        self.coef_, self.eta_ = run.solution().copy(), float(last["eta"][-1])
        self.objective_, self.dual_objective_ = run.objective, float(last["dual_objective"][-1])
        self.dual_gap_ = float(last["dual_gap"][-1]) if certified else np.inf
        self.prox_gradient_norm_ = float(last["prox_gradient_norm"][-1]) if certified else np.inf
        self.n_oracle_calls_, self.temperature_ = blocks.calls, 1.0
        status = self._set_end(outcome, certified)
        vars(self).pop("module_", None)
        if isinstance(self.model_, TorchScores):
            self.module_ = self.model_.module_at(self.coef_)
        self._view.forget()
        warn_of_oracle(blocks)
        warn_of_budget(self, status, ["a smaller C", "inputs on one scale"])

    # ---- predictions -----------------------------------------------------------------------------

    def _check_X(self, X):
        check_is_fitted(self)
        length_of(X, "X")  # refuses other values than a list
        return X
