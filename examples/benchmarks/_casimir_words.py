"""First fits to words: tags of English web texts and entities of tweets, nothing said."""

import warnings

import numpy as np
import scipy.sparse as sp
from _casimir_referee import calibration_error, numbers_of
from _casimir_taggers import tag, trained
from _defaults_structured import METRICS, SETS
from _report import Clock, Skip

from sklearn_fw import StructuredSVM

CORPORA = {"ewt": "ewt tags", "wnut17": "wnut17"}  # names of the page on defaults


def corpus(name, limit):
    """Features and tags to learn from and to judge by, and the score of predictions."""
    _, metric, load = SETS[CORPORA[name]]
    try:
        data = load()
    except FileNotFoundError as error:
        raise Skip(str(error)) from None
    return [part[:limit] for part in data], METRICS[metric]


def judged(y, predicted, chances, classes, score):
    """What everybody is told: the score, and the calibration error of tag probabilities."""
    error, _ = calibration_error(
        np.concatenate(list(chances)), numbers_of(np.concatenate(list(y)), classes)
    )
    return {"score": score(y, predicted), "calibration": error}


def ours(name, limit, surrogate):
    """`StructuredSVM` with nothing but its surrogate."""
    warnings.simplefilter("ignore")
    (X, y, Z, y_test), score = corpus(name, limit)
    svm = StructuredSVM("chain", surrogate=surrogate, random_state=0)
    svm.fit(X[:20], y[:20])  # compiles
    with Clock() as clock:
        svm.fit(X, y)
    return {"cpu": clock.cpu} | judged(
        y_test, svm.predict(Z), svm.predict_marginals(Z), svm.classes_, score
    )


def attributes(x):
    """Names of the features of each token of a sentence, for CRFsuite."""
    return [[str(j) for j in x.indices[a:b]] for a, b in zip(x.indptr[:-1], x.indptr[1:])]


def crfsuite(name, limit, algorithm="lbfgs"):
    """A trainer of python-crfsuite with its defaults, on the same features."""
    import pycrfsuite

    (X, y, Z, y_test), score = corpus(name, limit)
    X, Z = ([attributes(sp.csr_array(x)) for x in part] for part in (X, Z))
    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    for x, tags in zip(X, y):
        trainer.append(x, tags.tolist())
    classes = np.unique(np.concatenate(list(y)))
    with trained(trainer) as (tagger, clock, _):
        predicted, chances = tag(tagger, Z, classes.tolist())
    return {"cpu": clock.cpu} | judged(y_test, predicted, chances, classes, score)
