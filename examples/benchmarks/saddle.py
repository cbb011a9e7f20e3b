"""Saddle points: Frank-Wolfe, fictitious play, sparse structured SVMs, dual extragradient.

Needs the folders ``ocr`` and ``scene`` in the folder that SKLEARN_FW_DATA names.
"""

from _report import main
from _saddle_functions import cubes
from _saddle_solvers import cuts, extragradient, solvers_compared
from _saddle_sparse import sparse_digits, sparse_words

ABOUT = """
Convergence of saddle point methods on problems with known solutions or published results:
``solve_saddle_point``, the solvers "sp_fw" and "sp_bcfw" of ``StructuredSVM``, which produce sparse
weights, and "extragradient". Their cost is compared with that of block-coordinate Frank-Wolfe.

"Paper" is Gidel, Jebara and Lacoste-Julien (AISTATS 2017), or Taskar, Lacoste-Julien and Jordan
(JMLR 2006) for extragradient; "independent" is another implementation of the same method.
"""
PARTS = {
    "cubes": cubes, "sparse-digits": sparse_digits, "sparse-words": sparse_words, "cuts": cuts,
    "extragradient": extragradient, "solvers": solvers_compared,
}  # fmt: skip

if __name__ == "__main__":
    raise SystemExit(main("saddle", "Saddle point solvers", ABOUT, PARTS))
