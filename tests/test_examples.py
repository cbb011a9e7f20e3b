"""Every program of the gallery runs from start to end."""

import runpy

import pytest
from sklearn.linear_model import LogisticRegression

from _package import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*/plot_*.py"))
CLUSTER = ROOT / "examples" / "linear_model" / "plot_cluster.py"


def check_it_draws(path):
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs the extra 'plot'")
    try:
        runpy.run_path(str(path), run_name="__main__")
        assert plt.get_fignums(), "an example draws something"
    finally:
        plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("path", [p for p in EXAMPLES if p != CLUSTER], ids=lambda path: path.stem)
# Examples may stop early on purpose; what a reader would see as a fault stays an error.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_example_runs(path):
    if path.stem == "plot_certified_gap" and LogisticRegression().penalty != "deprecated":
        pytest.skip("before scikit-learn 1.8 l1_ratio of LogisticRegression needs penalty, too")
    check_it_draws(path)


@pytest.mark.slow
def test_example_on_a_cluster_runs(extra):
    extra("distributed", "distributed")
    check_it_draws(CLUSTER)
