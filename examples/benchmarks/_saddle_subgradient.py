"""The projected stochastic subgradient method on the l1 ball, a rival of saddle point methods."""

import numpy as np


def stochastic_subgradient(difference, n, w, radius, c, n_passes, every):
    """Projected stochastic subgradient method; the smallest primal value of every ``every`` passes.

    ``difference(i, w)`` gives the features of the truth of sample i less those of the worst answer,
    and the loss of that. The step of visit k is ``c / (G sqrt(1 + k / n))`` for the mean norm G of
    the differences at the start w.
    """
    from sklearn_fw.projections import project_l1_ball

    def value(w):
        return np.mean([loss - w @ psi for psi, loss in (difference(i, w) for i in range(n))])

    rng, best, values = np.random.RandomState(0), value(w), []
    scale = c / (n * np.mean([np.linalg.norm(difference(i, w)[0]) for i in range(n)]))
    for t in range(n_passes):
        for k, i in enumerate(rng.randint(n, size=n), start=t * n):
            w = project_l1_ball(w + scale / np.sqrt(1.0 + k / n) * difference(i, w)[0], radius)
        if (t + 1) % every == 0:
            best = min(best, value(w))
            values.append(best)
    return values


def class_differences(X, y):
    """`difference` for classes and 0/1 loss, weights class by class."""

    def difference(i, w):
        margins = w.reshape(10, -1) @ X[i] + (np.arange(10) != y[i])
        answer, psi = margins.argmax(), np.zeros((10, X.shape[1]))
        psi[y[i]] += X[i]
        psi[answer] -= X[i]
        return psi.ravel(), float(answer != y[i])

    return difference


def model_differences(model, X, y):
    """`difference` for any model."""
    model.initialize(X, y)
    truth = [model.joint_feature(a, b) for a, b in zip(X, y)]

    def difference(i, w):
        answer = model.loss_augmented_inference(X[i], y[i], w)
        return truth[i] - model.joint_feature(X[i], answer), model.loss(y[i], answer)

    return difference
