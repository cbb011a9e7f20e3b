"""Problems whose outputs are vertices of polytopes, with part scores and without."""

import functools

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from _problems import PROBLEMS, part_blocks, problem
from sklearn_fw.projections import project_simplex
from sklearn_fw.structured import EnumeratedModel, MatchingModel
from sklearn_fw.structured._problems._part_polytopes import polytopes_of

SUMS = [name for name in PROBLEMS if name != "chain, zero-one"]  # losses that are sums over nodes
FORESTS = [name for name in SUMS if name != "labels, all pairs"]


def polytopes(p):
    """The polytopes of a problem with part scores."""
    blocks = part_blocks(p)
    blocks.reset(1.0)
    return polytopes_of(blocks)


class Candidates(EnumeratedModel):
    """Candidates as vertices of a simplex."""

    def z_size(self, x):
        return len(x)

    def label_vector(self, x, y):
        return np.eye(len(x))[y]

    def adjoint(self, x, w):
        return x @ w

    def apply(self, x, z):
        return z @ x

    def loss_vector(self, x, y):
        return np.array([self.loss(y, k) for k in range(len(x))]), 0.0

    def z_diameter(self, x, geometry):
        return np.log(len(x)) if geometry == "entropy" else 0.5 - 0.5 / len(x)

    def lmo(self, x, s):
        return np.eye(len(x))[np.argmax(s)]

    def project(self, x, p, tol):
        return project_simplex(p)

    def log_potentials0(self, x):
        return np.zeros(len(x))

    def marginals(self, x, theta):
        return softmax(theta)


@functools.cache
def candidates():
    """The multiclass problem for `Candidates`."""
    p = problem("multiclass")
    X = [-psi for psi in p.psi]  # the features of the truth are zero: they do not matter
    return Candidates().initialize(X, p.targets), X, p.targets


@functools.cache
def planted():
    """Noisy assignments of 4 to 4 by 3 features: their features (d, J K) and matrices."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=3)
    features, outputs = [], []
    for _ in range(15):
        features.append(rng.normal(size=(3, 16)))
        scores = np.maximum(w @ features[-1] + 0.7 * rng.normal(size=16), 0.0).reshape(4, 4)
        rows, columns = linear_sum_assignment(-scores)
        outputs.append(np.zeros((4, 4)))
        outputs[-1][rows, columns] = scores[rows, columns] > 0.0
    return features, outputs


def matchings(**settings):
    """The planted problem with its model."""
    features, outputs = planted()
    X = [f.T.reshape(4, 4, 3) for f in features]
    return MatchingModel(**settings).initialize(X, outputs), X, outputs
