"""Metrics of predicted label sequences, and scorers made of them.

``y_true`` and ``y_pred`` are lists, object arrays or ``Packed`` with one array of labels per
sample; ``sample_weight`` has one number per sample.
"""

from collections import namedtuple

import numpy as np
from sklearn.metrics import make_scorer

from .. import task_losses
from .._core import check
from .._core.labels import locate

MOST_DIGITS = 50  # decimals of a ratio
PhraseScores = namedtuple("PhraseScores", "precision recall f1")


def node_accuracy(y_true, y_pred, *, sample_weight=None):
    """Fraction of nodes with the right label.

    Parameters
    ----------
    y_true, y_pred : list, object array or Packed of n_samples label arrays
        True and predicted labels, equal shapes sample by sample.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each node of a sample.

    Examples
    --------
    >>> from sklearn_fw.metrics import node_accuracy
    >>> node_accuracy([["B", "O", "O"], ["O"]], [["B", "O", "B"], ["O"]])
    0.75
    """
    return 1.0 - mean_hamming_loss(y_true, y_pred, sample_weight=sample_weight)


def sequence_accuracy(y_true, y_pred, *, sample_weight=None):
    """Fraction of samples in which every label is right.

    Parameters
    ----------
    y_true, y_pred : list, object array or Packed of n_samples label arrays
        True and predicted labels, equal shapes sample by sample.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each sample.

    Examples
    --------
    >>> from sklearn_fw.metrics import sequence_accuracy
    >>> sequence_accuracy([["B", "O", "O"], ["O"]], [["B", "O", "B"], ["O"]])
    0.5
    """
    losses, _ = _losses(task_losses.ZeroOneLoss(), y_true, y_pred)
    return float(np.average(losses == 0, weights=_check_weight(sample_weight, len(losses))))


def mean_hamming_loss(y_true, y_pred, *, normalize="node", sample_weight=None):
    """Mean number of wrong labels, by default per node.

    Parameters
    ----------
    y_true, y_pred : list, object array or Packed of n_samples label arrays
        True and predicted labels, equal shapes sample by sample.
    normalize : {"node", "sequence", None}, default="node"
        "node": wrong nodes over all nodes, long sequences count more. "sequence": mean over samples
        of the fraction of wrong nodes, 0 of an empty one. None: mean of the number of wrong nodes.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each sample; with ``"node"``, of each of its nodes.

    Returns
    -------
    float
        Between 0 and 1, or with ``normalize=None`` up to the length of a sequence.

    Examples
    --------
    >>> from sklearn_fw.metrics import mean_hamming_loss
    >>> y_true, y_pred = [["B", "O", "O"], ["O"]], [["B", "O", "B"], ["B"]]
    >>> mean_hamming_loss(y_true, y_pred)
    0.5
    >>> mean_hamming_loss(y_true, y_pred, normalize=None)
    1.0
    """
    if not (normalize is None or check.is_named(normalize, "node", "sequence")):
        raise ValueError(f"normalize must be 'node', 'sequence' or None, got {normalize!r}")
    wrong, lengths = _losses(task_losses.HammingLoss(normalize == "sequence"), y_true, y_pred)
    weight = _check_weight(sample_weight, len(wrong))
    if normalize != "node":
        return float(np.average(wrong, weights=weight))
    weight = np.ones(len(wrong)) if weight is None else weight
    if not weight @ lengths > 0:
        raise ValueError("no node to average over: every sample with positive weight is empty")
    return float(weight @ wrong / (weight @ lengths))


def phrase_counts(y_true, y_pred, *, sample_weight=None):
    """Number of true, predicted and correct phrases of each type.

    Choose it to add up counts over folds or batches before taking ratios.

    Parameters
    ----------
    y_true, y_pred : list, object array or Packed of n_samples tag arrays
        Tags ``"O"`` or ``"<prefix>-<type>"`` with prefix B, I, E or S; L and U are read
        as E and S, a prefix alone has the type ``""``, the type may hold hyphens.
    sample_weight : array-like of shape (n_samples,), default=None
        What each phrase of a sample counts.

    Returns
    -------
    dict of str to tuple
        ``{type: (n_true, n_predicted, n_correct)}``, types in sorted order; integers
        without ``sample_weight``, else floats.

    Notes
    -----
    Phrases are those of ``conlleval`` [1]_, so tags that break the scheme still have a meaning. A
    phrase starts at a token that is not O when its prefix is B or S, or when the token before is O,
    of another sentence or type, or has prefix E or S. It ends before the next start, before O, or
    with the sentence. A predicted phrase is correct when a true one has the same first and last
    token and type. For BIOES the rules for S, and for B after E, are added.

    References
    ----------
    .. [1] Tjong Kim Sang and Buchholz, Introduction to the CoNLL-2000 shared task:
       chunking, CoNLL 2000, and its program conlleval, version of 2004-01-26.

    Examples
    --------
    >>> from sklearn_fw.metrics import phrase_counts
    >>> phrase_counts([["B-NP", "I-NP", "B-VP"]], [["B-NP", "I-NP", "I-NP"]])
    {'NP': (1, 1, 0), 'VP': (1, 0, 0)}
    """
    truth, predicted = task_losses.read_labels(y_true, y_pred)
    lengths, codes = truth.lengths, (truth.states, predicted)
    weight = _check_weight(sample_weight, len(lengths))
    prefixes, types = _split_tags(truth.classes[0].tolist(), codes, lengths)
    names, type_of = np.unique(types, return_inverse=True) if types else ([], np.empty(0, int))
    sample = np.repeat(np.arange(len(lengths)), lengths)
    found = []  # rows of first token, token after the last, and type
    for own in codes:
        first, end = task_losses.phrases(own, sample, prefixes, type_of)
        found.append(np.column_stack([first, end, type_of[own[first]]]))
    # No two phrases start at one token, so the rows can be found by the first.
    _, *places = np.intersect1d(found[0][:, 0], found[1][:, 0], True, return_indices=True)
    same = np.all(found[0][places[0]] == found[1][places[1]], axis=1)
    counts = []
    for first, _, kind in (found[0].T, found[1].T, found[0][places[0][same]].T):
        weights = None if weight is None else weight[sample[first]]
        counts.append(np.bincount(kind, weights, minlength=len(names)).tolist())
    # A type without any phrase (that of O) is left out.
    return {str(name): row for name, row in zip(names, zip(*counts)) if row[0] or row[1]}


def phrase_precision_recall_f1(
    y_true, y_pred, *, average="micro", sample_weight=None, zero_division=0.0
):
    """Precision, recall and F1 of labeled phrases (chunks, entities).

    Parameters
    ----------
    y_true, y_pred : list, object array or Packed of n_samples tag arrays
        Tags in IOB1, IOB2, IOE or BIOES; see :func:`phrase_counts`.
    average : {"micro", "macro", None}, default="micro"
        ``"micro"``: of the phrases of all types together, the number published for CoNLL tasks.
        ``"macro"``: mean over types. ``None``: each type apart.
    sample_weight : array-like of shape (n_samples,), default=None
        What each phrase of a sample counts.
    zero_division : float, default=0.0
        Value of a ratio of zero phrases to zero phrases.

    Returns
    -------
    PhraseScores or dict of str to PhraseScores
        Three numbers between 0 and 1; with ``average=None`` three for each type.

    Examples
    --------
    >>> from sklearn_fw.metrics import phrase_precision_recall_f1
    >>> y_true, y_pred = [["B-NP", "I-NP", "B-VP"]], [["B-NP", "B-NP", "B-VP"]]
    >>> phrase_precision_recall_f1(y_true, y_pred).recall
    0.5
    >>> phrase_precision_recall_f1(y_true, y_pred, average=None)["VP"]
    PhraseScores(precision=1.0, recall=1.0, f1=1.0)
    """
    if not (average is None or check.is_named(average, "micro", "macro")):
        raise ValueError(f"average must be 'micro', 'macro' or None, got {average!r}")
    if not (isinstance(zero_division, float) and np.isnan(zero_division)):
        zero_division = check.number(zero_division, "zero_division")
    counts = phrase_counts(y_true, y_pred, sample_weight=sample_weight)
    if average == "micro":
        totals = [sum(column) for column in zip(*counts.values())] or [0, 0, 0]
        return _ratios(*totals, zero_division)
    scores = {name: _ratios(*row, zero_division) for name, row in counts.items()}
    if average is None:
        return scores
    if not scores:
        return PhraseScores(*[float(zero_division)] * 3)
    return PhraseScores(*(float(np.mean(column)) for column in zip(*scores.values())))


def phrase_f1_score(y_true, y_pred, *, average="micro", sample_weight=None, zero_division=0.0):
    """F1 of labeled phrases, as the CoNLL tasks report it.

    Parameters
    ----------
    y_true, y_pred, average, sample_weight, zero_division : list, str, array-like and float
        As in `phrase_precision_recall_f1`.

    Returns
    -------
    float or dict of str to float
        Between 0 and 1; with ``average=None`` one number for each type.

    Examples
    --------
    >>> from sklearn_fw.metrics import phrase_f1_score
    >>> phrase_f1_score([["B-NP", "I-NP", "B-VP"]], [["B-NP", "B-NP", "B-VP"]])
    0.4
    """
    options = {"sample_weight": sample_weight, "zero_division": zero_division}
    scores = phrase_precision_recall_f1(y_true, y_pred, average=average, **options)
    return {name: s.f1 for name, s in scores.items()} if average is None else scores.f1


def phrase_classification_report(y_true, y_pred, *, digits=3, sample_weight=None):
    """Text table of precision, recall and F1 of each type of phrase.

    Parameters
    ----------
    y_true, y_pred : list, object array or Packed of n_samples tag arrays
        Tags in IOB1, IOB2, IOE or BIOES; see :func:`phrase_counts`.
    digits : int, default=3
        Decimals of the ratios.
    sample_weight : array-like of shape (n_samples,), default=None
        What each phrase of a sample counts.

    Returns
    -------
    str
        One line per type, a line for all phrases together, and the node accuracy.
        ``true``, ``predicted`` and ``correct`` are numbers of phrases.

    Examples
    --------
    >>> from sklearn_fw.metrics import phrase_classification_report
    >>> y_true, y_pred = [["B-NP", "I-NP", "B-VP"]], [["B-NP", "B-NP", "B-VP"]]
    >>> for line in phrase_classification_report(y_true, y_pred).splitlines():
    ...     print(line)
         precision  recall     f1  true  predicted  correct
    NP       0.000   0.000  0.000     1          2        0
    VP       1.000   1.000  1.000     1          1        1
    all      0.333   0.500  0.400     2          3        1
    node accuracy 0.667
    """
    digits = check.integer(digits, "digits", 0, MOST_DIGITS)
    y_true, y_pred = (list(y) if hasattr(y, "__next__") else y for y in (y_true, y_pred))
    counts = phrase_counts(y_true, y_pred, sample_weight=sample_weight)
    totals = tuple(sum(column) for column in zip(*counts.values())) or (0, 0, 0)
    rows = [["", "precision", "recall", "f1", "true", "predicted", "correct"]]
    for name, row in [*counts.items(), ("all", totals)]:
        ratios = [f"{value:.{digits}f}" for value in _ratios(*row, 0.0)]
        rows.append([name, *ratios, *(str(n) if sample_weight is None else f"{n:g}" for n in row)])
    first, *others = (max(map(len, column)) for column in zip(*rows))
    lines = []
    for name, *row in rows:
        lines.append("  ".join([name.ljust(first), *map(str.rjust, row, others)]))
    accuracy = node_accuracy(y_true, y_pred, sample_weight=sample_weight)
    return "\n".join([*lines, f"node accuracy {accuracy:.{digits}f}"])


# For scoring=SCORERS["phrase_f1"]; scikit-learn looks strings up among its own scorers only.
SCORERS = {
    "neg_mean_hamming_loss": make_scorer(mean_hamming_loss, greater_is_better=False),
    "node_accuracy": make_scorer(node_accuracy),
    "phrase_f1": make_scorer(phrase_f1_score),
    "sequence_accuracy": make_scorer(sequence_accuracy),
}


def _check_weight(sample_weight, n_samples):
    # None stays None: counts are integers then.
    return None if sample_weight is None else check.sample_weight(sample_weight, n_samples)


def _losses(loss, y_true, y_pred):
    """Loss and number of labels of every sample, for a loss of wrong labels only."""
    truth, states = task_losses.read_mistakes(y_true, y_pred)
    return loss.node_costs(truth).losses(truth, states), truth.lengths


def _split_tags(tags, codes, lengths):
    """Prefixes and types of tags; ``codes`` of their tokens are for the message."""
    found = [task_losses.split_tag(tag) if isinstance(tag, str) else None for tag in tags]
    if None in found:
        number = found.index(None)
        tag, own = tags[number], codes[0] if number in codes[0] else codes[1]
        where = locate(int(np.argmax(own == number)), lengths)
        if isinstance(tag, str):
            raise ValueError(f"tag {tag!r} at {where} {task_losses.NO_TAG}")
        name = "y_true" if own is codes[0] else "y_pred"
        raise ValueError(f"{where} of {name} has the label {tag!r}: tags must be text")
    return np.array([prefix for prefix, _ in found]), [kind for _, kind in found]


def _ratios(n_true, n_predicted, n_correct, zero_division):
    precision = n_correct / n_predicted if n_predicted else float(zero_division)
    recall = n_correct / n_true if n_true else float(zero_division)
    if not n_true and not n_predicted:
        return PhraseScores(precision, recall, float(zero_division))
    # 2 correct / (true + predicted) is the harmonic mean without its division by zero.
    return PhraseScores(precision, recall, 2 * n_correct / (n_true + n_predicted))


def mean_task_loss(y_true, y_pred, *, task_loss="hamming", sample_weight=None):
    """Mean over samples of a task loss.

    Parameters
    ----------
    y_true, y_pred : array-like, list, object array or Packed of n_samples outputs
        True and predicted outputs: arrays of labels, single labels, or what the loss takes.
    task_loss : str, array-like of shape (n_classes, n_classes), callable or TaskLoss, \
            default="hamming"
        "hamming", "hamming_sum", "bleu", "distance", "edit", "links", "phrase_f1" or "zero_one", a
        matrix of costs of labels 0, 1, ..., a function of a true and a predicted output, or an
        object of `sklearn_fw.task_losses`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each sample.

    Returns
    -------
    float
        Not negative, smaller is better; in the units of the loss.

    Examples
    --------
    >>> from sklearn_fw.metrics import mean_task_loss
    >>> from sklearn_fw.task_losses import MatrixLoss
    >>> loss = MatrixLoss([[0, 1], [5, 0]], classes=["no", "yes"])
    >>> mean_task_loss([["yes", "no"], ["no"]], [["no", "no"], ["yes"]], task_loss=loss)
    3.0
    """
    losses = task_losses.resolve_task_loss(task_loss).losses(y_true, y_pred)
    if not len(losses):
        raise ValueError("y_true and y_pred are empty: metrics need at least one sample")
    return float(np.average(losses, weights=check.sample_weight(sample_weight, len(losses))))


def make_loss_scorer(task_loss):
    """Scorer of a task loss for scikit-learn's model selection: minus the mean loss.

    Parameters
    ----------
    task_loss : str, array-like of shape (n_classes, n_classes), callable or TaskLoss
        As in `mean_task_loss`.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn_fw.metrics import make_loss_scorer
    >>> scorer = make_loss_scorer([[0, 1], [5, 0]])
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 0, 1]
    >>> round(scorer(DummyClassifier().fit(X, y), X, y), 3)
    -1.667
    """
    loss = task_losses.resolve_task_loss(task_loss)
    return make_scorer(mean_task_loss, greater_is_better=False, task_loss=loss)
