"""Picture of topics; matplotlib is imported when it is drawn."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.validation import check_array_of_numbers, check_integer, check_magnitude
from ._panels import components_of, names_of, panels_of


class TopicDisplay:
    """Words with the largest shares of each topic, as bars.

    Make it with `from_estimator`, for any estimator with ``components_`` that are not negative:
    `sklearn_fw.decomposition.DiscreteICA`, latent Dirichlet allocation, non-negative factors.

    Parameters
    ----------
    topics : array-like of shape (n_components, n_features)
        Topics, not negative, one a row; rows are divided by their sums.
    names : array-like of shape (n_features,), default=None
        Words; None means numbers.

    Attributes
    ----------
    ax_ : ndarray of matplotlib Axes
        One for each topic.
    figure_ : matplotlib Figure
        Their figure.
    bars_ : list of matplotlib BarContainer
        Bars of each topic.

    See Also
    --------
    LoadingDisplay : Loadings of two views.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_fw.datasets import make_gp_corpus
    >>> from sklearn_fw.decomposition import DiscreteICA
    >>> from sklearn_fw.displays import TopicDisplay
    >>> model = DiscreteICA(2).fit(make_gp_corpus(1000, 20, 2, random_state=0).X)
    >>> display = TopicDisplay.from_estimator(model, n_top=5)
    >>> len(display.ax_), len(display.bars_[0])
    (2, 5)
    >>> plt.close(display.figure_)
    """

    def __init__(self, topics, *, names=None):
        self.topics = topics
        self.names = names

    @classmethod
    def from_estimator(cls, estimator, *, components=None, n_top=8, names=None, ax=None, **kwargs):
        """Draw the topics of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``components_``.
        components : array-like of int, default=None
            Which topics; None means the first six.
        n_top : int, default=8
            Number of words of each topic.
        names : array-like of shape (n_features,), default=None
            Words, such as ``vectorizer.get_feature_names_out()``; None means
            ``feature_names_in_``, or numbers.
        ax : array-like of matplotlib Axes, default=None
            Where to draw, one for each topic; None makes a new figure.
        **kwargs : dict
            Passed on to ``ax.barh``.

        Returns
        -------
        display : TopicDisplay
            With the artists as attributes.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "components_"):
            raise TypeError(
                f"{type(estimator).__name__} has no components_: pass a model of topics, of a "
                "pipeline its last step"
            )
        if names is None:
            names = getattr(estimator, "feature_names_in_", None)
        display = cls(estimator.components_, names=names)
        return display.plot(ax, components=components, n_top=n_top, **kwargs)

    def plot(self, ax=None, *, components=None, n_top=8, **kwargs):
        """Draw the topics.

        Parameters
        ----------
        ax : array-like of matplotlib Axes, default=None
            Where to draw, one for each topic; None makes a new figure.
        components : array-like of int, default=None
            Which topics; None means the first six.
        n_top : int, default=8
            Number of words of each topic.
        **kwargs : dict
            Passed on to ``ax.barh``.

        Returns
        -------
        display : TopicDisplay
            This object.
        """
        topics = _shares(self.topics)
        names = names_of(self.names, topics.shape[1], "names")
        n_top = check_integer(n_top, "n_top", 1)
        components = components_of(components, len(topics))
        self.figure_, self.ax_ = panels_of(self, ax, len(components))
        self.bars_ = []
        for panel, k in zip(self.ax_, components):
            top = np.argsort(-topics[k], kind="stable")[:n_top]
            bars = panel.barh(np.arange(len(top)), topics[k, top], **{"alpha": 0.5, **kwargs})
            self.bars_.append(bars)
            panel.set_yticks(np.arange(len(top)), [names[m] for m in top], fontsize="small")
            panel.set(title=f"Topic {k}", xlabel="share of the topic")
            panel.invert_yaxis()
        return self


def _shares(topics):
    topics = check_array_of_numbers(topics, "topics")
    check_magnitude(topics, "topics")
    if topics.ndim != 2 or not topics.size:
        raise ValueError(f"topics must have shape (n_components, n_features), got {topics.shape}")
    if topics.min() < 0.0:
        raise ValueError(f"topics must not be negative, got {topics.min():g}")
    total = topics.sum(axis=1, keepdims=True)
    return topics / np.where(total > 0.0, total, 1.0)
