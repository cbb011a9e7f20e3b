"""
=======================================
Learning to search with a linear tagger
=======================================

``SeaRNNTransducer`` trains a network on the costs of its outputs. The same engine trains any policy
that scores the next token, such as this linear one in NumPy. Outputs are tags of a noisy sequence,
and the previous tag is a feature. Training with true previous tags makes the tagger rely on them
too much.
"""

# %%
# Data
# ----
# States persist for a while; an observation is the one-hot state plus noise.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw.seq2seq import LearningToSearch, StepPolicy, roll_out_costs, searnn_loss

N_STATES, LENGTH = 4, 12


def sequences(n, rng):
    X, y = [], []
    for _ in range(n):
        jumps = rng.random(LENGTH) < 0.15
        states = (np.cumsum(jumps * rng.integers(1, N_STATES, LENGTH)) + rng.integers(N_STATES)) % 4
        X.append(np.eye(N_STATES)[states] + 0.9 * rng.normal(size=(LENGTH, N_STATES)))
        y.append(states)
    return X, y


rng = np.random.default_rng(0)
X, y = sequences(400, rng)
X_test, y_test = sequences(400, rng)

# %%
# A linear policy
# ---------------
# Scores are linear in the observation and the previous tag. The state of the policy is a tuple of
# arrays with one row per sequence; the engine selects and concatenates rows.


class Linear(StepPolicy):
    def __init__(self):
        self.W = np.zeros((2 * N_STATES + 1, N_STATES))

    def start(self, X):
        return self._scored((np.stack(X), np.zeros(len(X), int), np.full(len(X), -1)))

    def step(self, state, tokens):
        X, time, _ = state
        return self._scored((X, time + 1, tokens))

    def _scored(self, state):
        return state, features(*state) @ self.W


def features(X, time, before):
    here = X[np.arange(len(X)), time]
    previous = np.eye(N_STATES + 1)[before][:, :N_STATES]
    return np.hstack([here, previous, np.ones((len(X), 1))])


# %%
# Training
# --------
# Roll-outs compute the costs of all tags in all cells of a batch. The loss gives derivatives with
# respect to the scores, and the chain rule those with respect to the weights. Maximum likelihood is
# the log-loss with reference roll-ins and roll-outs.


def train(roll_in, roll_out, n_updates=60, batch=40):
    search = LearningToSearch(roll_in=roll_in, roll_out=roll_out, n_tokens=None)
    policy, curve, order = Linear(), [], np.random.default_rng(0)
    for update in range(n_updates):
        index = order.integers(len(X), size=batch)
        own = [X[i] for i in index]
        found = roll_out_costs(
            policy, own, [y[i] for i in index], search=search, random_state=update
        )
        before = np.array([np.r_[-1, tokens[:-1]] for tokens in found.tokens]).ravel()
        rows = features(
            np.repeat(np.stack(own), LENGTH, axis=0), np.tile(np.arange(LENGTH), batch), before
        )
        _, gradient = searnn_loss(rows @ policy.W, np.concatenate(found.costs), "ll")
        policy.W -= 2.0 * rows.T @ gradient / len(rows)
        curve.append(error(policy))
    return policy, curve


def error(policy):
    learned = LearningToSearch(n_cells=1, n_tokens=1, roll_out="reference")
    made = roll_out_costs(policy, X_test, y_test, search=learned, random_state=0).tokens
    return np.mean([a != b for a, b in zip(made, y_test)])


ways = {
    "maximum likelihood": ("reference", "reference"),
    "learned roll-in and mixed roll-out": ("learned", "mixed"),
}
found = {name: train(*way) for name, way in ways.items()}

# %%
# Test error and token costs
# --------------------------
# Right: the costs of all tags in all cells of one test sequence if the tagger completes the output.
# A wrong tag costs more than one if it causes further errors.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for name, (_, curve) in found.items():
    left.plot(curve, label=name)
left.set(xlabel="updates", ylabel="fraction of wrong tags", title="Test sequences")
left.legend()
policy = found["maximum likelihood"][0]
costs = roll_out_costs(
    policy, X_test[:1], y_test[:1],
    search=LearningToSearch(roll_in="reference", roll_out="learned", n_tokens=None),
).costs[0]  # fmt: skip
image = right.imshow(LENGTH * costs.T, cmap="viridis", aspect="auto")
right.plot(np.arange(LENGTH), y_test[0], "w.", label="true tag")
right.set(xlabel="cell", ylabel="tag chosen in the cell", title="Wrong tags after completion")
right.set_yticks(range(N_STATES))
right.legend(loc="lower right")
fig.colorbar(image, ax=right)
plt.show()
