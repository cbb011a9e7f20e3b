"""Two views of the same samples that share independent factors."""

import numpy as np
from sklearn.utils import Bunch

from .._core.validation import check_between, check_integer, check_random_state
from ._topic_corpora import MOST_TOKENS, draw_dirichlet


def make_discrete_cca(
    n_samples=1000, n_features=20, n_components=10, n_private=20, *, shape=0.3, private_shape=0.1,
    mean_length=1000.0, private_length=1000.0, random_state=None,
):  # fmt: skip
    """Counts in two views that share factors and have others of their own.

    ``x_j ~ Poisson(D_j a + F_j b_j)`` with gamma intensities a of the shared factors and b_j of
    those that view j has alone; columns of D_j and F_j are drawn from Dirichlet(0.5).

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples.
    n_features : int, default=20
        Number of features of each view.
    n_components : int, default=10
        Number of factors that the views share.
    n_private : int, default=20
        Number of factors that each view has for itself.
    shape : float, default=0.3
        Shape of the gamma law of shared intensities.
    private_shape : float, default=0.1
        Shape of the gamma law of the others.
    mean_length : float, default=1000.0
        Expected sum of counts of a view that shared factors make.
    private_length : float, default=1000.0
        Expected sum of counts of a view that its own factors make.
    random_state : int, RandomState instance or None, default=None
        Source of all draws: loadings first.

    Returns
    -------
    data : Bunch
        ``X``, ``y``: arrays of counts of shape (n_samples, n_features); ``x_loadings``,
        ``y_loadings``: arrays of shape (n_features, n_components); ``sources``: array of shape
        (n_samples, n_components).

    See Also
    --------
    make_nongaussian_cca : Real numbers with signs.
    make_mixed_cca : One view of each kind.
    sklearn_fw.metrics.multiview_l1_error : How well loadings were found.

    References
    ----------
    .. [1] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Beyond CCA: moment matching for multi-view
       models", ICML 2016: section 5.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_discrete_cca
    >>> data = make_discrete_cca(50, random_state=0)
    >>> data.X.shape, data.y_loadings.shape
    ((50, 20), (20, 10))
    """
    shapes = (shape, private_shape, mean_length, private_length)
    return _draw((True, True), n_samples, n_features, n_components, n_private, shapes, random_state)


def make_nongaussian_cca(
    n_samples=1000, n_features=20, n_components=10, n_private=10, *, shape=0.1, private_shape=0.1,
    scale=1000.0, private_scale=1000.0, random_state=None,
):  # fmt: skip
    """Real numbers in two views that share symmetric factors and have others of their own.

    ``x_j = D_j a + F_j b_j`` with sources that are gamma numbers with random signs; columns of D_j
    and F_j are uniform in [-1, 1] and divided by their l1 norm.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples.
    n_features : int, default=20
        Number of features of each view.
    n_components : int, default=10
        Number of factors that the views share.
    n_private : int, default=10
        Number of factors that each view has for itself.
    shape : float, default=0.1
        Shape of the gamma law of shared sources.
    private_shape : float, default=0.1
        Shape of the gamma law of the others.
    scale : float, default=1000.0
        Expected sum of the absolute values of shared sources.
    private_scale : float, default=1000.0
        Expected sum of the absolute values of the others.
    random_state : int, RandomState instance or None, default=None
        Source of all draws: loadings first.

    Returns
    -------
    data : Bunch
        ``X``, ``y``: arrays of shape (n_samples, n_features); ``x_loadings``, ``y_loadings``:
        arrays of shape (n_features, n_components); ``sources``: array of shape (n_samples,
        n_components).

    See Also
    --------
    make_discrete_cca : Counts.
    make_mixed_cca : One view of each kind.

    References
    ----------
    .. [1] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Beyond CCA: moment matching for multi-view
       models", ICML 2016: section 5.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_nongaussian_cca
    >>> data = make_nongaussian_cca(50, random_state=0)
    >>> data.X.shape, data.y_loadings.shape
    ((50, 20), (20, 10))
    """
    shapes = (shape, private_shape, scale, private_scale)
    return _draw(
        (False, False), n_samples, n_features, n_components, n_private, shapes, random_state
    )


def make_mixed_cca(
    n_samples=1000, n_features=20, n_components=10, n_private=20, *, shape=0.3, private_shape=0.1,
    mean_length=1000.0, private_length=1000.0, random_state=None,
):  # fmt: skip
    """Real numbers in one view and counts in the other, which share factors that are not negative.

    ``x = D_1 a + F_1 b_1`` and ``y ~ Poisson(D_2 a + F_2 b_2)``, the loadings of x as those of
    `make_nongaussian_cca`, those of y as those of `make_discrete_cca`; b_1 has random signs.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples.
    n_features : int, default=20
        Number of features of each view.
    n_components : int, default=10
        Number of factors that the views share.
    n_private : int, default=20
        Number of factors that each view has for itself.
    shape : float, default=0.3
        Shape of the gamma law of shared intensities.
    private_shape : float, default=0.1
        Shape of the gamma law of the others.
    mean_length : float, default=1000.0
        Expected sum of counts that shared factors make.
    private_length : float, default=1000.0
        Expected sum of counts that the other factors make.
    random_state : int, RandomState instance or None, default=None
        Source of all draws: loadings first.

    Returns
    -------
    data : Bunch
        ``X``: array of real numbers and ``y``: array of counts, of shape (n_samples, n_features);
        ``x_loadings``, ``y_loadings``: arrays of shape (n_features, n_components); ``sources``:
        array of shape (n_samples, n_components).

    See Also
    --------
    make_discrete_cca : Counts in both views.
    make_nongaussian_cca : Real numbers in both views.

    References
    ----------
    .. [1] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Beyond CCA: moment matching for multi-view
       models", ICML 2016: section 5.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_mixed_cca
    >>> data = make_mixed_cca(50, random_state=0)
    >>> data.X.shape, bool((data.y >= 0).all())
    ((50, 20), True)
    """
    shapes = (shape, private_shape, mean_length, private_length)
    return _draw(
        (False, True), n_samples, n_features, n_components, n_private, shapes, random_state
    )


def _draw(counts, n_samples, n_features, n_components, n_private, shapes, random_state):
    rng = check_random_state(random_state)
    n_samples = check_integer(n_samples, "n_samples", 1)
    n_features = check_integer(n_features, "n_features", 1)
    n_components = check_integer(n_components, "n_components", 1)
    n_private = check_integer(n_private, "n_private", 0)
    if max(n_samples, n_features) * max(n_features, n_components, n_private) > MOST_TOKENS:
        raise ValueError(
            "n_samples, n_features, n_components and n_private must have products below 2**31"
        )
    names = ("shape", "private_shape", "mean_length or scale", "private_length or private_scale")
    shapes = [check_between(value, name, 1e-6, 1e9) for value, name in zip(shapes, names)]
    shape, private_shape, size, private_size = shapes
    loadings = [_loadings(rng, n_features, n_components, is_count) for is_count in counts]
    private = [_loadings(rng, n_features, n_private, is_count) for is_count in counts]
    sources = rng.gamma(shape, size / (n_components * shape), (n_samples, n_components))
    if not any(counts):
        sources *= rng.choice([-1.0, 1.0], sources.shape)
    views = []
    for D, F, is_count in zip(loadings, private, counts):
        view = sources @ D.T
        if n_private:
            own = rng.gamma(private_shape, private_size / (n_private * private_shape),
                            (n_samples, n_private))  # fmt: skip
            view = view + (own if is_count else own * rng.choice([-1.0, 1.0], own.shape)) @ F.T
        views.append(rng.poisson(view) if is_count else view)
    return Bunch(
        X=views[0], y=views[1], x_loadings=loadings[0], y_loadings=loadings[1], sources=sources
    )


def _loadings(rng, n_features, n_columns, is_count):
    if is_count:
        return draw_dirichlet(rng, np.full(n_features, 0.5), n_columns).T
    columns = rng.uniform(-1.0, 1.0, (n_features, n_columns))
    return columns / np.sum(np.abs(columns), axis=0)
