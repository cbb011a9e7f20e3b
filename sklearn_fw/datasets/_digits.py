"""Words and images to complete, of the digits that scikit-learn carries."""

from numbers import Integral

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from .._core import check
from ._files import bundle
from ._grids import grid_edges

# Images in a random order: first those for training, last those for testing; validation words, when
# there are any, get the first half of the latter.
N_TRAIN_IMAGES = 900
N_VALID_IMAGES = 448
MOST_WORDS, LONGEST_WORD = 10**7, 10**5

IMAGES_DESCR = """
The images are the test part of the Optical Recognition of Handwritten Digits data set of
the UCI Machine Learning Repository (E. Alpaydin and C. Kaynak, 1998).
"""
WORDS_DESCR = """\
Words of handwritten digits
---------------------------

A word is a Markov chain of digits with uniform start, each digit shown by a noisy image
of it from `sklearn.datasets.load_digits`.  Each row of the transition matrix has few
large entries.  Words of different parts use disjoint images.

:Samples: {sizes} test words of {min_length} to {max_length} digits
:Features of a digit: 64 pixels between 0 and 1 (8 x 8){bias}
:Labels: 0 to 9
"""
INPAINTING_DESCR = """\
In-painting of handwritten digits
---------------------------------

Binary images of digits; in the test images a square of pixels is hidden.

:Samples: {n_train} training and {n_test} test images
:Variables: 64 pixels (8 x 8), 1 for ink
:Hidden: {patch} x {patch} pixels of each test image, anywhere
"""

INK = 7  # of 16: pixels above it are 1
# Rows and columns from a pixel to its neighbors.
OFFSETS = [(0, 1), (1, 0), (1, 1), (1, -1), (0, 2), (2, 0)]


def make_digit_words(
    n_train=600, n_test=600, *, noise=0.3, min_length=4, max_length=11, bias=True, n_valid=0,
    random_state=0, return_X_y=False,
):  # fmt: skip
    """Make words of handwritten digits for a sequence labeler.

    Parameters
    ----------
    n_train, n_test : int, default=600
        Number of training words and of test words.
    noise : float, default=0.3
        Standard deviation of the noise added to pixels, once per image; they lie between 0 and 1
        and are clipped to that range after.
    min_length, max_length : int, default=4 and 11
        Least and largest number of digits in a word.
    bias : bool, default=True
        Whether a constant 1 is appended to the 64 pixels.
    n_valid : int, default=0
        Number of validation words, from half of the images that training words do not use.
    random_state : int, RandomState instance or None, default=0
        Pass an int for the same words in every call.
    return_X_y : bool, default=False
        Return four arrays, six with validation words, instead of a ``Bunch``.

    Returns
    -------
    Bunch
        ``X_train``, ``X_test``: object arrays of float64 arrays of shape (n_digits, 65), or
        (n_digits, 64) without bias. ``y_train``, ``y_test``: object arrays of int64 arrays of shape
        (n_digits,). ``X_valid``, ``y_valid``: the same of the validation words, when there are any.
        ``transition``: ndarray of shape (10, 10), row i the distribution of the digit after i.
        ``image_shape``: (8, 8). ``target_names``: ndarray of shape (10,). ``DESCR``: str.
    X_train, y_train, X_valid, y_valid, X_test, y_test : object arrays
        With ``return_X_y=True``.

    Notes
    -----
    With an integer seed s, three generators ``numpy.random.default_rng`` with seeds 3s,
    3s + 1 and 3s + 2 draw: (first) the transition matrix, 0.9 times Dirichlet rows with all
    parameters 0.2 plus 0.01; the random order of the images; their noise; (second) the training
    words and (third) the test and the validation words: length, digits, images.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_digit_words
    >>> words = make_digit_words(n_train=3, n_test=1)
    >>> words.X_train[0].shape, words.y_train[0]
    ((7, 65), array([5, 7, 2, 6, 3, 6, 5]))
    """
    n_train = check.integer(n_train, "n_train", 1, MOST_WORDS)
    n_test = check.integer(n_test, "n_test", 1, MOST_WORDS)
    n_valid = check.integer(n_valid, "n_valid", 0, MOST_WORDS)
    noise = check.moderate(noise, "noise")
    min_length = check.integer(min_length, "min_length", 1, LONGEST_WORD)
    max_length = check.integer(max_length, "max_length", min_length, LONGEST_WORD)
    bias = check.flag(bias, "bias")
    check.flag(return_X_y, "return_X_y")
    rng, rng_train, rng_test = _generators(random_state)
    images, digits = load_digits(return_X_y=True)
    transition = 0.9 * rng.dirichlet([0.2] * 10, size=10) + 0.01
    order = rng.permutation(len(images))
    images = np.clip(images / 16 + noise * rng.normal(size=images.shape), 0, 1)
    if bias:
        images = np.column_stack([images, np.ones(len(images))])

    def draw(rng, n_words, pool):
        X, y = np.empty((2, n_words), dtype=object)
        pools = [pool[digits[pool] == digit] for digit in range(10)]
        for i in range(n_words):
            y[i] = _draw_digits(rng, transition, min_length, max_length)
            X[i] = images[[rng.choice(pools[digit]) for digit in y[i]]]
        return X, y

    parts = {}
    parts["X_train"], parts["y_train"] = draw(rng_train, n_train, order[:N_TRAIN_IMAGES])
    n_known = N_TRAIN_IMAGES + (N_VALID_IMAGES if n_valid else 0)
    test = draw(rng_test, n_test, order[n_known:])
    if n_valid:
        pool = order[N_TRAIN_IMAGES:n_known]
        parts["X_valid"], parts["y_valid"] = draw(rng_test, n_valid, pool)
    parts["X_test"], parts["y_test"] = test
    valid = f", {n_valid} validation" if n_valid else ""
    return bundle(
        parts, return_X_y, transition=transition, image_shape=(8, 8), target_names=np.arange(10),
        DESCR=WORDS_DESCR.format(
            sizes=f"{n_train} training{valid} and {n_test}", min_length=min_length,
            max_length=max_length, bias=" and a constant 1" if bias else "",
        ) + IMAGES_DESCR,
    )  # fmt: skip


def _generators(random_state):
    """Three generators of its own for every seed of the user, so that no two share a stream."""
    rng = check.random_state(random_state)
    if not isinstance(random_state, Integral):
        random_state = rng.randint(np.iinfo(np.int32).max)
    return (np.random.default_rng(3 * int(random_state) + k) for k in range(3))


def _draw_digits(rng, transition, min_length, max_length):
    n_digits = int(rng.integers(min_length, max_length + 1))
    digits = [rng.integers(10)]
    while len(digits) < n_digits:
        digits.append(rng.choice(10, p=transition[digits[-1]]))
    return np.array(digits, dtype=np.int64)


def make_digit_inpainting(patch=4, n_test=100, *, random_state=0):
    """Make binary images of digits of which a square is to be completed.

    Choose it for examples of learning random fields and of conditional marginals.

    Parameters
    ----------
    patch : int, default=4
        Rows and columns of the hidden square, from 1 to 8.
    n_test : int, default=100
        Number of test images, from 1 to 1796; the others are for training.
    random_state : int, RandomState instance or None, default=0
        Chooses the test images and the places of the squares.

    Returns
    -------
    Bunch
        ``X_train``: int64 ndarray of shape (n_train, 64), 1 for ink. ``X_test``: int64 ndarray of
        shape (n_test, 64), the complete test images; ``X_hidden``: the same with -1 at hidden
        pixels; ``mask``: True at hidden pixels. ``y_train``, ``y_test``: int64 ndarrays of shape
        (n_train,) and (n_test,), the digits. ``edges``: int64 ndarray of shape (306, 2), pixels
        joined with those one step to the right, below and on both diagonals below, and two steps
        to the right and below. ``image_shape``: (8, 8). ``DESCR``: str.

    Notes
    -----
    A pixel is ink if its value is above 7 of 16. The permutation of all images is drawn first, then
    the upper and the left ends of all squares.

    References
    ----------
    .. [1] Nowozin, Rother, Bagon, Sharp, Yao and Kohli, Decision tree fields, ICCV 2011: the
       in-painting of occluded characters that this imitates.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_digit_inpainting
    >>> digits = make_digit_inpainting(patch=3)
    >>> digits.X_train.shape, digits.X_hidden.shape, digits.mask.sum(axis=1)[:2]
    ((1697, 64), (100, 64), array([9, 9]))
    """
    images, digits = load_digits(return_X_y=True)
    patch = check.integer(patch, "patch", 1, 8)
    n_test = check.integer(n_test, "n_test", 1, len(images) - 1)
    rng = check.random_state(random_state)
    X = (images > INK).astype(np.int64)
    order = rng.permutation(len(X))
    test, train = order[:n_test], order[n_test:]
    top, left = rng.randint(9 - patch, size=(2, n_test, 1))
    row, column = np.divmod(np.arange(64), 8)
    mask = (row >= top) & (row < top + patch) & (column >= left) & (column < left + patch)
    return Bunch(
        X_train=X[train], X_test=X[test], X_hidden=np.where(mask, -1, X[test]), mask=mask,
        y_train=digits[train], y_test=digits[test], edges=grid_edges(8, 8, OFFSETS),
        image_shape=(8, 8),
        DESCR=INPAINTING_DESCR.format(n_train=len(train), n_test=len(test), patch=patch)
        + IMAGES_DESCR,
    )  # fmt: skip
