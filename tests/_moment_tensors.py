"""Moments of counts from explicit tensors of shape (M, M, M)."""

import numpy as np


def gp_tensors(X):
    """S and T of the gamma-Poisson model, from rows."""
    n, size = X.shape
    m = X.mean(axis=0)
    Z, eye = X - m, np.eye(size)
    C = Z.T @ Z / (n - 1)
    T = n / ((n - 1) * (n - 2)) * np.einsum("na,nb,nc->abc", Z, Z, Z)
    T += 2 * np.einsum("a,ab,ac->abc", m, eye, eye)
    T -= np.einsum("bc,ab->abc", eye, C) + np.einsum("ac,ab->abc", eye, C)
    T -= np.einsum("ab,ac->abc", eye, C)
    return C - np.diag(m), T


def lda_tensors(X, c0):
    """S and T of latent Dirichlet allocation, by sums over distinct tokens of documents."""
    X = X[X.sum(axis=1) >= 3]
    size = X.shape[1]
    first, second, third = np.zeros(size), np.zeros((size,) * 2), np.zeros((size,) * 3)
    for x in X.astype(int):
        tokens = np.repeat(np.arange(size), x)
        length = len(tokens)
        for i, a in enumerate(tokens):
            first[a] += 1 / length
            for j, b in enumerate(tokens):
                if i == j:
                    continue
                second[a, b] += 1 / (length * (length - 1))
                for k, c in enumerate(tokens):
                    if k not in (i, j):
                        third[a, b, c] += 1 / (length * (length - 1) * (length - 2))
    first, second, third = (part / len(X) for part in (first, second, third))
    pairs = np.einsum("ab,c->abc", second, first)
    mixed = pairs + pairs.transpose(0, 2, 1) + pairs.transpose(2, 1, 0)
    cube = np.einsum("a,b,c->abc", first, first, first)
    T = third - c0 / (c0 + 2) * mixed + 2 * c0**2 / ((c0 + 1) * (c0 + 2)) * cube
    return second - c0 / (c0 + 1) * np.outer(first, first), T
