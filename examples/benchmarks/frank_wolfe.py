"""Frank-Wolfe methods: experiments of the papers, and comparisons with other packages.

The races of averaged subgradients need the folders ``a9a`` and ``20news`` in the folder that
SKLEARN_FW_DATA names.
"""

from _frank_wolfe_averages import averages_part, subgradient_part, submodular_part
from _frank_wolfe_defaults import defaults_part
from _frank_wolfe_experiments import lasso_part
from _frank_wolfe_functions import functions_part, radius_part
from _frank_wolfe_races import completion_part, dense_part, l1_part
from _report import main

ABOUT = """
Speed of ``minimize_frank_wolfe``, ``minimize_submodular`` and averaged subgradients, and agreement
with published experiments. All problems except two data sets are generated.

"Paper" is Lacoste-Julien and Jaggi (NIPS 2015), or Lacoste-Julien, Schmidt and Bach (2012) for
averages of subgradient steps; "spec" is an independent plain implementation of the same methods.
"""
PARTS = {
    "lasso": lasso_part, "averages": averages_part, "l1": l1_part, "dense": dense_part,
    "completion": completion_part, "subgradient": subgradient_part,
    "submodular": submodular_part, "defaults": defaults_part, "functions": functions_part,
    "radius": radius_part,
}  # fmt: skip

if __name__ == "__main__":
    raise SystemExit(main("frank_wolfe", "Frank-Wolfe optimization", ABOUT, PARTS, peers=("copt",)))
