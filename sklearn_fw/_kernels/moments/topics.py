"""Documents under given topics: variational proportions, and probabilities by sampling.

A document is a row of a CSR matrix of counts. ``topics`` (n_features, K) holds the topics as
columns, so that the numbers of one word stand together.
"""

import math

import numpy as np

from .._jit import inner, njit
from ..common.vectors import assign, dot

SMALLEST = 1e-300  # instead of a word that no topic has


@inner
def digamma(x):
    """Derivative of the logarithm of the gamma function, for x > 0; to 1e-12."""
    shift = 0.0
    while x < 10.0:
        shift -= 1.0 / x
        x += 1.0
    f = 1.0 / (x * x)
    series = f * (1 / 12 - f * (1 / 120 - f * (1 / 252 - f * (1 / 240 - f / 132))))
    return shift + math.log(x) - 0.5 / x - series


@njit
def infer_proportions(data, indices, indptr, topics, prior, gamma, tol, max_iter):
    """Variational Dirichlet parameters ``gamma`` (n, K) of each document, improved in place.

    Repeats ``gamma_k = prior_k + sum_m x_m phi_mk`` with
    ``phi_mk ~ topics_mk exp(digamma(gamma_k))`` until the mean change is below ``tol``. Cost: nnz K
    for each of at most ``max_iter`` rounds."""
    n_topics = prior.size
    weights, sums = np.empty(n_topics), np.empty(n_topics)
    for i in range(gamma.shape[0]):
        row = gamma[i]
        start, stop = indptr[i], indptr[i + 1]
        for _ in range(max_iter):
            _expected(row, weights)
            sums[:] = 0.0
            for j in range(start, stop):
                word = topics[indices[j]]
                share = data[j] / (dot(word, weights) + SMALLEST)
                for k in range(n_topics):
                    sums[k] += share * word[k]
            change = 0.0
            for k in range(n_topics):
                value = prior[k] + weights[k] * sums[k]
                change += abs(value - row[k])
                row[k] = value
            if change <= tol * n_topics:
                break


@inner
def _expected(row, weights):
    """exp(E log theta) of a Dirichlet law, into ``weights``; returns digamma of the sum."""
    base = digamma(row.sum())
    for k in range(row.size):
        weights[k] = math.exp(digamma(row[k]) - base)
    return base


@njit
def document_bounds(data, indices, indptr, topics, prior, gamma, counts, bounds, row_weight):
    """Evidence bound of each document, into ``bounds``; expected counts of topics in addition.

    ``counts`` (n_features, K), or of no rows where they are not wanted, receives the sum of
    ``row_weight_n x_nm phi_nmk``. Cost: nnz K.
    """
    n_topics = prior.size
    weights = np.empty(n_topics)
    wants_counts = counts.shape[0] > 0
    constant = 0.0
    for k in range(n_topics):
        constant -= math.lgamma(prior[k])
    constant += math.lgamma(prior.sum())
    for i in range(gamma.shape[0]):
        row = gamma[i]
        base = _expected(row, weights)
        bound = constant
        for k in range(n_topics):
            bound += math.lgamma(row[k]) + (prior[k] - row[k]) * (digamma(row[k]) - base)
        bound -= math.lgamma(row.sum())
        for j in range(indptr[i], indptr[i + 1]):
            word = topics[indices[j]]
            norm = dot(word, weights) + SMALLEST
            bound += data[j] * math.log(norm)
            if wants_counts:
                share = row_weight[i] * data[j] / norm
                target = counts[indices[j]]
                for k in range(n_topics):
                    target[k] += share * word[k] * weights[k]
        bounds[i] = bound


@inner
def _draw(probabilities, uniform):
    """A topic with these probabilities, which need no sum; their largest one if ``uniform`` < 0."""
    if uniform < 0.0:
        return np.argmax(probabilities)
    left = uniform * probabilities.sum()
    for k in range(probabilities.size):
        left -= probabilities[k]
        if left < 0.0:
            return k
    return probabilities.size - 1


@inner
def _sweep(tokens, topics, prior, states, counts, uniforms, backwards):
    """Draw the topic of each token given all others, or its best one where ``uniforms`` < 0."""
    probabilities = np.empty(prior.size)
    for step in range(tokens.size):
        n = tokens.size - 1 - step if backwards else step
        counts[states[n]] -= 1.0
        for k in range(prior.size):
            probabilities[k] = topics[tokens[n], k] * (prior[k] + counts[k])
        states[n] = _draw(probabilities, uniforms[step])
        counts[states[n]] += 1.0


@inner
def _log_transition(tokens, topics, prior, source, target):
    """Log probability that a forward sweep from ``source`` ends at ``target``."""
    counts = np.zeros(prior.size)
    for n in range(tokens.size):
        counts[source[n]] += 1.0
    log_probability = 0.0
    for n in range(tokens.size):
        counts[source[n]] -= 1.0
        total = 0.0
        for k in range(prior.size):
            total += topics[tokens[n], k] * (prior[k] + counts[k])
        probability = topics[tokens[n], target[n]] * (prior[target[n]] + counts[target[n]])
        log_probability += math.log(probability / total + SMALLEST)
        counts[target[n]] += 1.0
    return log_probability


@inner
def _log_joint(tokens, topics, prior, states):
    counts = np.zeros(prior.size)
    value = total = 0.0
    for n in range(tokens.size):
        counts[states[n]] += 1.0
        value += math.log(topics[tokens[n], states[n]] + SMALLEST)
    for k in range(prior.size):
        total += prior[k]
        value += math.lgamma(counts[k] + prior[k]) - math.lgamma(prior[k])
    return value + math.lgamma(total) - math.lgamma(tokens.size + total)


@njit
def chib_log_probability(tokens, topics, prior, uniforms, n_burn_in, first):
    """Chib's estimate of the log probability of a sequence of tokens.

    ``uniforms`` (n_burn_in + n_samples, n_tokens) are random numbers, ``first`` the place in the
    chain of samples from which it goes forward and backward. Cost: one sweep of n_tokens K for each
    row."""
    n_tokens, n_samples = tokens.size, uniforms.shape[0] - n_burn_in
    states, counts = np.zeros(n_tokens, np.int64), np.zeros(prior.size)
    counts[0] = n_tokens
    for t in range(n_burn_in):
        _sweep(tokens, topics, prior, states, counts, uniforms[t], False)
    best = np.full(n_tokens, -1.0)
    previous = states.copy()
    for _ in range(50):
        _sweep(tokens, topics, prior, states, counts, best, False)
        if np.all(previous == states):
            break
        assign(previous, states)
    top = states.copy()
    logs = np.empty(n_samples)
    # The sample at `first` comes from the best states by one sweep in reverse order.
    _sweep(tokens, topics, prior, states, counts, uniforms[n_burn_in + first], True)
    logs[first] = _log_transition(tokens, topics, prior, states, top)
    middle, middle_counts = states.copy(), counts.copy()
    for t in range(first + 1, n_samples):
        _sweep(tokens, topics, prior, states, counts, uniforms[n_burn_in + t], False)
        logs[t] = _log_transition(tokens, topics, prior, states, top)
    for t in range(first - 1, -1, -1):
        _sweep(tokens, topics, prior, middle, middle_counts, uniforms[n_burn_in + t], True)
        logs[t] = _log_transition(tokens, topics, prior, middle, top)
    largest = np.max(logs)
    mean = largest + math.log(np.mean(np.exp(logs - largest)))
    return _log_joint(tokens, topics, prior, top) - mean
