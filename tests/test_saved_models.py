"""Models that releases saved predict the same, or are refused with the release's name."""

import importlib.util
import pickle
from pathlib import Path

import numpy as np
import pytest

from sklearn_fw import StructuredSVM

DATA = Path(__file__).parent / "data"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.whole
@pytest.mark.parametrize("path", sorted(DATA.rglob("*.pickle")), ids=lambda path: path.stem)
def test_saved_models_predict_the_same(path):
    spec = importlib.util.spec_from_file_location("save_models", DATA / "save_models.py")
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    model, X, saved = pickle.loads(path.read_bytes())
    found = module.outputs(model, X)
    if saved.dtype.kind == "f":
        np.testing.assert_allclose(found, saved, rtol=1e-6, atol=1e-8)
    else:
        assert found.tolist() == saved.tolist()


def test_state_without_a_parameter_names_its_version():
    state = StructuredSVM(C=2.0).__getstate__()
    del state["C"]
    with pytest.raises(ValueError, match=r"saved by sklearn_fw \d+\.\d+\..* without C: load it"):
        StructuredSVM().__setstate__(state)
