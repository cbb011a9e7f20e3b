"""The kernel for listed atoms makes the steps of the plain loop."""

import numpy as np
import pytest

from sklearn_fw.optim import domains, minimize_frank_wolfe, objectives
from sklearn_fw.optim._frank_wolfe import _minimize


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("variant", ["fw", "away", "pairwise"])
@pytest.mark.parametrize("kind", ["l1", "simplex", "hull"])
def test_kernel_and_plain_loop_agree(kind, variant, rng, monkeypatch):
    """Up to where rounding decides between atoms that promise the same."""
    A, b = rng.normal(size=(25, 12)), 5.0 * rng.normal(size=25)
    domain = {
        "l1": domains.L1Ball(12, 2.0), "simplex": domains.Simplex(12, 1.5),
        "hull": domains.ConvexHull(rng.normal(size=(20, 12))),
    }[kind]  # fmt: skip
    atoms = [domain.lmo(rng.normal(size=12)) for _ in range(4)]
    start = atoms[0] if variant == "fw" else (atoms, [0.1, 0.2, 0.3, 0.4])
    options = {"variant": variant, "start": start, "tol": 1e-9, "max_iter": 500}
    objective = objectives.LeastSquares(A, b)
    fast = minimize_frank_wolfe(objective, domain, **options)
    seen = []
    watched = minimize_frank_wolfe(objective, domain, callback=seen.append, **options)
    monkeypatch.setattr(_minimize, "can_scan", lambda *args: False)
    plain = minimize_frank_wolfe(objective, domain, **options)
    assert len(seen) == watched.nit
    np.testing.assert_array_equal([state.fun for state in seen], watched.history["objective"])
    for state in seen[:: max(len(seen) // 9, 1)]:
        assert domain.contains(state.x, 1e-9)
        np.testing.assert_allclose(objective(state.x)[0], state.fun, rtol=1e-9, atol=0)
    assert set(fast.history) == set(plain.history)
    # Both atoms of an exact pairwise step promise the same behind it.
    n_same = 3 if variant == "pairwise" else 6
    for name in ("objective", "dual_gap", "step_size", "n_oracle_calls"):
        first, second = (found.history[name][:n_same] for found in (fast, plain))
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-9, err_msg=name)
    assert fast.fun == pytest.approx(plain.fun, rel=1e-3 if variant == "fw" else 1e-9)
    assert fast.success == plain.success
