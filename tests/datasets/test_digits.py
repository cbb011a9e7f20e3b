"""Words of digits follow their recipe, and squares of their images are hidden."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sklearn_fw.datasets import make_digit_inpainting, make_digit_words


def recipe(n_words, seed, images, digits, transition, pool):
    """The recipe of the documentation, letter by letter, for the default parameters."""
    rng = np.random.default_rng(seed)
    for _ in range(n_words):
        length = rng.integers(4, 12)
        word = [rng.integers(10)]
        while len(word) < length:
            word.append(rng.choice(10, p=transition[word[-1]]))
        rows = [rng.choice([i for i in pool if digits[i] == d]) for d in word]
        yield np.hstack([images[rows], np.ones((len(word), 1))]), word


def test_default_words_follow_the_recipe():
    images, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    transition = 0.9 * rng.dirichlet([0.2] * 10, size=10) + 0.01
    order = rng.permutation(1797)
    images = np.clip(images / 16 + 0.3 * rng.normal(size=images.shape), 0, 1)
    words = make_digit_words()
    assert words.X_train.shape == words.y_train.shape == words.X_test.shape == (600,)
    np.testing.assert_array_equal(words.transition, transition)
    for X, y, seed, pool in (
        (words.X_train, words.y_train, 1, order[:900]),
        (words.X_test, words.y_test, 2, order[900:]),
    ):
        for i, (x, word) in enumerate(recipe(20, seed, images, digits, transition, pool)):
            np.testing.assert_array_equal(X[i], x, strict=True)
            np.testing.assert_array_equal(y[i], word)


def test_words_are_what_the_description_says():
    words = make_digit_words()
    assert words.X_train.dtype == words.y_train.dtype == object
    lengths = [len(y) for y in words.y_train]
    assert (min(lengths), max(lengths)) == (4, 11)
    assert [x.shape for x in words.X_train] == [(n, 65) for n in lengths]
    assert words.y_train[0].dtype == np.int64
    assert words.image_shape == (8, 8)
    np.testing.assert_allclose(words.transition.sum(axis=1), 1, rtol=1e-12)
    assert "600 training and 600 test words of 4 to 11 digits" in words.DESCR


def test_validation_words_have_images_of_their_own():
    images, digits = load_digits(return_X_y=True)
    words = make_digit_words(30, 50, noise=0, bias=False, n_valid=40, random_state=0)
    parts = (words.X_train, words.X_valid, words.X_test)
    assert [len(part) for part in parts] == [30, 40, 50]
    assert [len(part) for part in (words.y_train, words.y_valid, words.y_test)] == [30, 40, 50]
    order = {row.tobytes(): i for i, row in enumerate(images / 16)}
    used = [{order[row.tobytes()] for x in part for row in x} for part in parts]
    assert not used[0] & used[1]
    assert not used[0] & used[2]
    assert not used[1] & used[2]
    for x, y in zip(words.X_valid, words.y_valid):
        assert [digits[order[row.tobytes()]] for row in x] == y.tolist()
    # The training words are those of a set without validation.
    without = make_digit_words(30, 50, noise=0, bias=False, random_state=0)
    np.testing.assert_array_equal(np.concatenate(words.X_train), np.concatenate(without.X_train))
    assert "30 training, 40 validation and 50 test words" in words.DESCR
    names = ("X_train", "y_train", "X_valid", "y_valid", "X_test", "y_test")
    parts = make_digit_words(3, 2, n_valid=4, return_X_y=True)
    assert [len(part) for part in parts] == [3, 3, 4, 4, 2, 2]
    assert list(words)[: len(names)] == list(names)


def test_random_state():
    first = {
        make_digit_words(3, 3, random_state=seed).X_train[0].tobytes() for seed in (0, 1, 2, 3)
    }
    assert len(first) == 4
    # Seeds share no stream: the training words of one are not the test words of another.
    one, zero = make_digit_words(9, 9, random_state=1), make_digit_words(9, 9, random_state=0)
    assert [len(y) for y in one.y_train] != [len(y) for y in zero.y_test]
    by_instance = [
        make_digit_words(3, 3, random_state=np.random.RandomState(5)).y_train[0] for _ in range(2)
    ]
    np.testing.assert_array_equal(*by_instance)


class TestInpainting:
    def test_images(self):
        digits = make_digit_inpainting(patch=3, n_test=70, random_state=5)
        images, labels = load_digits(return_X_y=True)
        known = {((x > 7) * 1).tobytes(): y for x, y in zip(images, labels)}
        assert digits.X_train.shape == (1727, 64)
        assert digits.X_train.dtype == digits.X_hidden.dtype == np.int64
        X, y = np.concatenate([digits.X_train, digits.X_test]), [*digits.y_train, *digits.y_test]
        assert set(np.unique(X)) == {0, 1}
        ones = sorted(map(tuple, (images > 7).astype(int)))
        assert sorted(map(tuple, X)) == ones  # each image once
        right = [known[x.tobytes()] == label for x, label in zip(X, y)]
        assert np.mean(right) > 0.99  # a few binary images belong to two digits

    @pytest.mark.parametrize("patch", [1, 3, 4, 8])
    def test_hidden_square(self, patch):
        digits = make_digit_inpainting(patch=patch)
        np.testing.assert_array_equal(digits.X_hidden == -1, digits.mask)
        visible = ~digits.mask
        np.testing.assert_array_equal(digits.X_hidden[visible], digits.X_test[visible])
        vertices = set()
        for mask in digits.mask.reshape(-1, 8, 8):
            rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
            assert len(rows) == len(columns) == patch
            assert mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].all()
            vertices.add((rows[0], columns[0]))
        assert {r for r, _ in vertices} == {c for _, c in vertices} == set(range(9 - patch))

    def test_edges(self):
        edges = make_digit_inpainting().edges
        assert edges.shape == (306, 2)
        expected = {
            (8 * r + c, 8 * (r + down) + c + right)
            for r, c in itertools.product(range(8), repeat=2)
            for down, right in [(0, 1), (1, 0), (1, 1), (1, -1), (0, 2), (2, 0)]
            if 0 <= r + down < 8 and 0 <= c + right < 8
        }
        assert set(map(tuple, edges.tolist())) == expected
        assert np.all(edges[:, 0] < edges[:, 1])

    def test_random_state(self):
        one, same, other = (make_digit_inpainting(random_state=seed) for seed in (0, 0, 1))
        np.testing.assert_array_equal(one.X_hidden, same.X_hidden)
        assert not np.array_equal(one.X_hidden, other.X_hidden)
        assert "1697 training and 100 test images" in one.DESCR


@pytest.mark.parametrize(
    ("make", "params", "message"),
    [
        (make_digit_words, {"min_length": 5, "max_length": 4}, "max_length == 4, must be >= 5"),
        (make_digit_inpainting, {"patch": 9}, "patch == 9, must be <= 8"),
        (make_digit_inpainting, {"n_test": 1797}, "n_test == 1797, must be <= 1796"),
    ],
)
def test_wrong_parameters_are_refused(make, params, message):
    with pytest.raises(ValueError, match=message):
        make(**params)
