"""Metrics of alignments: which words of two sentences belong together."""

import numpy as np

from .._core.links import (
    as_mapping,
    common_shape,
    links_of,
    mapping_counts,
    pairs_of,
    precision_recall_f1,
)
from .._core.validation import check_flag, check_list


def alignment_error_rate(y_sure, y_possible, y_pred):
    """Alignment error rate of a corpus, the usual measure of word alignments.

    With the sets S of sure links, P of possible ones (which hold the sure ones) and A of predicted
    links, of all samples together::

        1 - (|A and S| + |A and P|) / (|A| + |S|)

    Possible links do no harm when they are predicted, and none when they are not. With sure links
    only it is one minus the F1 score of links.

    Parameters
    ----------
    y_sure : list or object array of n_samples arrays of shape (J, K) or lists of pairs
        Sure links: 0/1 matrices, or lists of pairs (j, k).
    y_possible : list or object array like y_sure, or None
        Possible links; sure ones count as possible whether or not they are repeated here. None when
        all are sure.
    y_pred : list or object array like y_sure
        Predicted links. Words may be linked several times.

    Returns
    -------
    float
        Between 0 and 1, smaller is better; 0 when there are neither sure nor predicted links.

    See Also
    --------
    sklearn_fw.structured.MatchingModel : Learns alignments.
    phrase_f1_score : Precision and recall of phrases.

    References
    ----------
    .. [1] F. J. Och, H. Ney, "A systematic comparison of various statistical alignment models",
       Computational Linguistics 29, 2003: section 4.1. doi:10.1162/089120103321337421

    Examples
    --------
    Of three predicted links one is sure and one is possible.

    >>> from sklearn_fw.metrics import alignment_error_rate
    >>> alignment_error_rate([[(0, 0)]], [[(1, 1), (1, 2)]], [[(0, 0), (1, 2), (2, 0)]])
    0.25
    """
    what = "0/1 matrices or lists of pairs, one for each sample"
    y_sure, y_pred = check_list(y_sure, "y_sure", what), check_list(y_pred, "y_pred", what)
    y_possible = y_sure if y_possible is None else check_list(y_possible, "y_possible", what)
    if not len(y_sure) == len(y_possible) == len(y_pred):
        raise ValueError(
            f"y_sure, y_possible and y_pred must have the same length, got {len(y_sure)}, "
            f"{len(y_possible)} and {len(y_pred)} samples"
        )
    n_right = n_links = 0
    for i, outputs in enumerate(zip(y_sure, y_possible, y_pred)):
        for name, output in zip(("y_sure", "y_possible", "y_pred"), outputs):
            if not isinstance(output, list | tuple | set | frozenset) and np.ndim(output) != 2:
                raise ValueError(
                    f"{name}[{i}] must be a 0/1 matrix or a list of pairs, got {output!r:.60}"
                )
        shape = common_shape(*outputs)
        sure, possible, predicted = (
            pairs_of(links_of(output, f"{name}[{i}]", shape))
            for name, output in zip(("y_sure", "y_possible", "y_pred"), outputs)
        )
        n_right += len(predicted & sure) + len(predicted & (possible | sure))
        n_links += len(predicted) + len(sure)
    return 1.0 - n_right / n_links if n_links else 0.0


def alignment_prf(truth, mapping, *, complete=False):
    """Precision, recall and F1 of a mapping between two sets of entities.

    Parameters
    ----------
    truth : dict or list of pairs
        True matches.
    mapping : dict or list of pairs
        Predicted matches.
    complete : bool, default=False
        Whether the truth is complete, so that matches of entities without a true one are wrong.
        Otherwise these are not judged.

    Returns
    -------
    precision : float
        Share of the judged matches that are true; 1 when none is judged.
    recall : float
        Share of the true matches that were found; 1 when there are none.
    f1 : float
        Their harmonic mean.

    Examples
    --------
    >>> from sklearn_fw.metrics import alignment_prf
    >>> alignment_prf({"a": 1, "b": 2}, {"a": 1, "c": 3})
    (1.0, 0.5, 0.6666666666666666)
    """
    check_flag(complete, "complete")
    truth, mapping = as_mapping(truth, "truth"), as_mapping(mapping, "mapping")
    n_right, n_judged, n_true = mapping_counts(truth, mapping)
    return precision_recall_f1(n_right, len(mapping) if complete else n_judged, n_true)
