"""Problems of the benchmark of Frank-Wolfe methods, made here, and runs of them."""

import warnings

import numpy as np
from _report import Clock

RADIUS = 20.0  # of the l1 ball of the constrained Lasso


def minimise(objective, domain, **options):
    """A run of `minimize_frank_wolfe` whose budget may end it, with CPU seconds as ``cpu``."""
    from sklearn.exceptions import ConvergenceWarning

    from sklearn_fw.optim import minimize_frank_wolfe

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with Clock() as clock:
            result = minimize_frank_wolfe(objective, domain, **options)
    result.cpu = clock.cpu
    return result


def true_gap(objective, domain, x):
    """The certificate at a point of any origin."""
    _, gradient = objective(x)
    return float(gradient @ (x - domain.lmo(gradient).to_array()))


# ---- constrained Lasso ---------------------------------------------------------------------------


def lasso_data(seed, n=200, d=500, n_ones=25):
    """Matrix and target: d - 2 n_ones zeros, as many ones as minus ones, noise of 0.1."""
    rng = np.random.RandomState(seed)
    A, x = rng.randn(n, d), np.zeros(d)
    x[:n_ones], x[n_ones : 2 * n_ones] = 1.0, -1.0
    return A, A @ x + 0.1 * rng.randn(n)


def lasso(seed):
    """Objective and domain."""
    from sklearn_fw.optim import domains, objectives

    A, b = lasso_data(seed)
    return objectives.LeastSquares(A, b), domains.L1Ball(A.shape[1], RADIUS)


def tall_lasso(seed, n=2000, d=300):
    """Objective and domain with more rows than columns, and a radius that binds a little."""
    from sklearn_fw.optim import domains, objectives

    A, b = lasso_data(seed, n, d)
    return objectives.LeastSquares(A, b), domains.L1Ball(d, 40.0)


def wide_data(n=2000, d=20_000, seed=0):
    """A dense matrix with more columns than rows, whose target few of them make."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d))
    return A, A[:, :20] @ np.linspace(1.0, 2.0, 20) + rng.standard_normal(n)


# ---- paths through frames ------------------------------------------------------------------------

N_FRAMES, N_BOXES = (8, 7, 7, 4, 7), 20


def video(seed=0):
    """Matrix, linear part, and for each video the 0/1 matrices of edges between its frames."""
    rng = np.random.RandomState(seed)
    size = N_BOXES * sum(N_FRAMES)
    Phi = rng.randn(size, 2 * size)
    Q = 1.1e-3 * Phi @ Phi.T / (2 * size) + 1e-4 * np.eye(size)
    b = rng.uniform(0.0014, 0.0306, size)
    videos = []
    for n_frames in N_FRAMES:
        steps = []
        for _ in range(n_frames - 1):
            step = rng.rand(N_BOXES, N_BOXES) < 0.3
            step[np.arange(N_BOXES), rng.randint(N_BOXES, size=N_BOXES)] = True
            step[rng.randint(N_BOXES, size=N_BOXES), np.arange(N_BOXES)] = True
            steps.append(step)
        videos.append(steps)
    return Q, b, videos


class Frames:
    """A path through the frames of each video, as a domain of one's own: a one for each box.

    The shortest path is found frame by frame. Nothing but `lmo` and `start` is written here.
    """

    def __init__(self, videos):
        # Costs of the edges: zero where there is one.
        self.videos = [[np.where(step, 0.0, np.inf) for step in steps] for steps in videos]
        self.size = sum(
            sum(len(step) for step in steps) + steps[-1].shape[1] for steps in self.videos
        )

    def start(self):
        """The path where all costs are -1."""
        return self.lmo(-np.ones(self.size))

    def lmo(self, gradient):
        """A shortest path of every video."""
        x, begin = np.zeros(self.size), 0
        for steps in self.videos:
            places, back = [begin], []
            best = gradient[begin : begin + len(steps[0])]
            for step in steps:
                places.append(places[-1] + len(step))
                through = best[:, None] + step
                back.append(through.argmin(0))
                best = through.min(0) + gradient[places[-1] : places[-1] + step.shape[1]]
            box = int(best.argmin())
            x[places[-1] + box] = 1.0
            for place, parents in zip(places[-2::-1], back[::-1]):
                box = int(parents[box])
                x[place + box] = 1.0
            begin = places[-1] + steps[-1].shape[1]
        return x


# ---- matrices ------------------------------------------------------------------------------------


def completion_data(n_rows=2000, n_columns=1000, share=0.01, rank=5, noise=0.1, seed=0):
    """Places and values of the entries that are known of a matrix of low rank."""
    rng = np.random.default_rng(seed)
    left = rng.standard_normal((n_rows, rank))
    right = rng.standard_normal((n_columns, rank))
    n_known = round(share * n_rows * n_columns)
    places = np.sort(rng.choice(n_rows * n_columns, n_known, replace=False))
    rows, columns = np.divmod(places, n_columns)
    values = np.einsum("ij,ij->i", left[rows], right[columns])
    return rows, columns, values + noise * rng.standard_normal(n_known)


def selection(rows, columns, shape):
    """The sparse matrix that takes these entries from a matrix, row by row."""
    import scipy.sparse as sp

    n = len(rows)
    return sp.csr_matrix(
        (np.ones(n), (np.arange(n), rows * shape[1] + columns)), (n, shape[0] * shape[1])
    )


# ---- functions of sets ---------------------------------------------------------------------------


def iwata(n):
    """Weights of Iwata's function: ``F(A) = |A| (n - |A|) + sum of the weights of A``."""
    elements = np.arange(1.0, n + 1)
    return -(5.0 * elements - 2.0 * n)


def noisy_image(height, width, seed=0):
    """A picture of discs in noise, with values near -1 and 1."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width] / max(height, width)
    truth = -np.ones((height, width))
    for centre in ((0.3, 0.3), (0.65, 0.6)):
        truth[np.hypot(y - centre[0], x - centre[1]) < 0.2] = 1.0
    return truth + rng.standard_normal(truth.shape)


def grid_edges(height, width):
    """Edges between neighbours, of shape (n_edges, 2)."""
    number = np.arange(height * width).reshape(height, width)
    across = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], 1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], 1)
    return np.concatenate([across, down])
