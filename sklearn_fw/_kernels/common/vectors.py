"""Products of short vectors, without the cost of a call to BLAS."""

from .._jit import any_order


@any_order
def dot(a, b):
    """Inner product."""
    total = 0.0
    for c in range(a.size):
        total += a[c] * b[c]
    return total
