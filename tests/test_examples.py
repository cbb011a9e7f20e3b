"""Every program of the gallery runs from start to end."""

import runpy

import pytest
from sklearn.linear_model import LogisticRegression

from _package import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*/plot_*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
# Examples may stop early on purpose; what a reader would see as a fault stays an error.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_example_runs(path):
    if path.stem == "plot_certified_gap" and LogisticRegression().penalty != "deprecated":
        pytest.skip("before scikit-learn 1.8 l1_ratio of LogisticRegression needs penalty, too")
    if (
        path.stem == "plot_cluster"
    ):  # the documentation, which is built with this extra, runs it, too
        pytest.importorskip("distributed", reason="needs the extra 'distributed'")
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs the extra 'plot'")
    try:
        runpy.run_path(str(path), run_name="__main__")
        assert plt.get_fignums(), "an example draws something"
    finally:
        plt.close("all")
