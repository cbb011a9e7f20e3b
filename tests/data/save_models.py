"""Save small fitted models and their predictions, which later versions must load.

python tests/data/save_models.py    # once per release; tests/test_saved_models.py loads them
"""

import pickle
from pathlib import Path

import numpy as np

import sklearn_fw
from sklearn_fw import AsagaClassifier, AsagaRegressor, KernelStudentTDensity, StructuredSVM
from sklearn_fw.decomposition import MultiViewCCA
from sklearn_fw.gaussian_probability import EPProbitClassifier
from sklearn_fw.linear_model import FrankWolfeClassifier, FrankWolfeRegressor
from sklearn_fw.pac_bayes import PACBayesLinearRegression
from sklearn_fw.random_fields import ExactMarginals, TRWMarginals
from sklearn_fw.surrogates import QuadraticSurrogateClassifier

rng = np.random.RandomState(0)
X = rng.rand(24, 3)
Y, target = np.array(["no", "yes"])[(X[:, 0] > 0.5).astype(int)], X @ [1.0, -1.0, 0.5]
words, tags = [X[:4], X[4:10], X[10:24]], [Y[:4], Y[4:10], Y[10:24]]
table = (X > 0.5).astype(int)
MODELS = {
    "multiclass": (StructuredSVM(C=1.0, random_state=0), X, Y),
    "chain": (StructuredSVM(model="chain", C=1.0, random_state=0), words, tags),
    "crf": (StructuredSVM(model="chain", surrogate="crf", C=1.0, random_state=0), words, tags),
    "classifier": (AsagaClassifier(C=10.0, random_state=0), X, Y),
    "regressor": (AsagaRegressor(alpha=0.1, random_state=0), X, target),
    "ball": (FrankWolfeRegressor(radius=1.0), X, target),
    "ball_classifier": (FrankWolfeClassifier(radius=5.0), X, Y),
    "density": (KernelStudentTDensity(), X, None),
    "pac_bayes": (PACBayesLinearRegression(), X, target),
    "surrogate": (QuadraticSurrogateClassifier(), X, Y),
    "probit": (EPProbitClassifier(), X, Y),
    "trw": (TRWMarginals(), table, None),
    "exact": (ExactMarginals(), table, None),
    "views": (MultiViewCCA(1, random_state=0), X[:, :2], X[:, 1:]),
}


def outputs(model, X):
    """Predictions, or what the model has in place of them, in one vector."""
    methods = ("predict", "score_samples", "transform")
    (method, *_) = (name for name in methods if hasattr(model, name))
    return np.concatenate([np.ravel(part) for part in getattr(model, method)(X)])


if __name__ == "__main__":
    folder = Path(__file__).parent / sklearn_fw.__version__.removesuffix(".dev0")
    folder.mkdir(exist_ok=True)
    for name, (model, X, y) in MODELS.items():
        model.fit(X, y)
        (folder / f"{name}.pickle").write_bytes(pickle.dumps((model, X, outputs(model, X))))
