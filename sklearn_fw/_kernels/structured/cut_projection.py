"""Nearest points of cut polytopes: node j at z_j in [0, 1], edge (j, k) at z_e in [|z_j - z_k|, 1].

The dual of a projection has two numbers >= 0 for each edge, those of ``z_j - z_k <= z_e`` and of
``z_k - z_j <= z_e``. Accelerated gradient steps, each edge with a step of its own, go up the dual;
they start again whenever they turn back.
"""

import numpy as np

from .._jit import inner, njit

CHECK = 10  # iterations between certificates


@inner
def _primal(edges, p, n_nodes, first_node, first_edge, last_edge, dual, z, q):
    """q = p - G' dual and z = clip(q) of one sample."""
    for j in range(z.size):
        q[j] = p[j]
    for e in range(first_edge, last_edge):
        force, local = dual[0, e] - dual[1, e], e - first_edge
        q[edges[e, 0] - first_node] -= force
        q[edges[e, 1] - first_node] += force
        q[n_nodes + local] += dual[0, e] + dual[1, e]
    for j in range(z.size):
        z[j] = min(max(q[j], 0.0), 1.0)


@inner
def _certify(edges, p, n_nodes, first_node, first_edge, last_edge, z, q):
    """Make z feasible; the most that ``<p - z, z' - z>`` can be for other points z'."""
    for e in range(first_edge, last_edge):
        apart = abs(z[edges[e, 0] - first_node] - z[edges[e, 1] - first_node])
        local = n_nodes + e - first_edge
        z[local] = max(z[local], apart)
    bound = 0.0
    for j in range(z.size):
        bound += max(q[j] - z[j], 0.0) - (p[j] - z[j]) * z[j]
    return bound


@njit
def project_cuts(edges, node_start, edge_start, p, steps, accuracy, most, dual, out, bounds):
    """Projections of all samples, one flat vector (nodes, then edges) after the other.

    ``dual`` (2, n_edges) is where to start, and what was found.
    """
    last, ahead = dual.copy(), dual.copy()
    for i in range(node_start.size - 1):
        first_node, first_edge = node_start[i], edge_start[i]
        last_edge, n_nodes = edge_start[i + 1], node_start[i + 1] - node_start[i]
        start, stop = first_node + first_edge, node_start[i + 1] + last_edge
        here, z = p[start:stop], out[start:stop]
        q, momentum = np.empty(stop - start), 1.0
        for k in range(most + 1):
            if k % CHECK == 0:
                _primal(edges, here, n_nodes, first_node, first_edge, last_edge, dual, z, q)
                bounds[i] = _certify(edges, here, n_nodes, first_node, first_edge, last_edge, z, q)
                if bounds[i] <= accuracy or k == most:
                    break
            _primal(edges, here, n_nodes, first_node, first_edge, last_edge, ahead, z, q)
            turn = 0.0
            for e in range(first_edge, last_edge):
                apart = z[edges[e, 0] - first_node] - z[edges[e, 1] - first_node]
                z_e = z[n_nodes + e - first_edge]
                for side in range(2):
                    slope = (apart if side == 0 else -apart) - z_e
                    new = max(ahead[side, e] + steps[e] * slope, 0.0)
                    turn += (ahead[side, e] - new) * (new - dual[side, e]) / steps[e]
                    last[side, e], dual[side, e] = dual[side, e], new
            grown = 0.5 + np.sqrt(0.25 + momentum**2)
            factor = (momentum - 1.0) / grown
            momentum = grown
            if turn > 0.0:
                momentum, factor = 1.0, 0.0
            for side in range(2):
                for e in range(first_edge, last_edge):
                    ahead[side, e] = dual[side, e] + factor * (dual[side, e] - last[side, e])
