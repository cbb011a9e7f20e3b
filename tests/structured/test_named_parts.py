"""Parameters of parts that were given by name."""

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import ChainModel, Extragradient


def test_names_become_objects():
    svm = StructuredSVM("chain", oracle="enumeration", solver="bcpfw")
    same = svm.set_params(
        solver__sampling="shuffle", model__start_end=False, oracle__max_labelings=99, C=2.0
    )
    assert same is svm
    assert (svm.solver.variant, svm.solver.sampling) == ("pairwise", "shuffle")
    assert isinstance(svm.model, ChainModel)
    assert svm.model.start_end is False
    assert svm.oracle.max_labelings == 99
    assert svm.C == 2.0
    copy = clone(svm)
    assert copy.get_params()["solver__sampling"] == "shuffle"
    assert copy.set_params(solver__sampling="gap").solver.variant == "pairwise"


def test_a_new_name_comes_first():
    svm = StructuredSVM(solver="bcpfw").set_params(solver__gap_check=3, solver="extragradient")
    assert isinstance(svm.solver, Extragradient)
    assert svm.solver.gap_check == 3


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"solver__sampling": "shuffle"},
            "solver='auto' is chosen in fit, so solver__sampling cannot be set before: name the "
            "solver first, or pass an object with this parameter",
        ),
        ({"model__task_loss": "hamming"}, "name the model first"),
        ({"oracle__max_labelings": 9}, "name the oracle first"),
        ({"solver": "bcfw", "solver__colour": 1}, "Invalid parameter 'colour' for estimator Block"),
        ({"solver": "best", "solver__sampling": "gap"}, "solver must be one of 'auto', 'bcafw'"),
        ({"color": 1}, "Invalid parameter 'color' for estimator StructuredSVM"),
    ],
    ids=str,
)
def test_errors_have_a_remedy(params, message):
    with pytest.raises(ValueError, match=message):
        StructuredSVM().set_params(**params)
    # The estimator still works.
    StructuredSVM().fit([np.eye(3)], [["a", "b", "c"]])
