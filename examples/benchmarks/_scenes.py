"""Scenes with several labels (Boutell and others), from the user's files."""

from _report import Skip


def load_scene():
    """Training and test scenes with their labels, from the folder ``scene`` of the user's data."""
    from scipy.sparse import load_npz

    from sklearn_fw.datasets._files import find_file

    try:
        paths = [
            find_file(None, [f"scene/scene_{part}.npz"], what="the scenes")
            for part in ("train_X", "train_Y", "test_X", "test_Y")
        ]
    except FileNotFoundError as error:
        raise Skip(str(error)) from None
    X, y, X_test, y_test = (load_npz(path).toarray() for path in paths)
    return X.astype(float), y.astype(int), X_test.astype(float), y_test.astype(int)
