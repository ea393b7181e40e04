"""A naive reference: selections by determinants in float64, without any code of the core."""

import numpy as np


def covariance(pool, targets=None):
    points = np.asarray(pool, dtype=np.float64)
    if targets is not None:
        points = np.concatenate([points, np.asarray(targets, dtype=np.float64)])
    return points @ points.T


def logdet(matrix):
    sign, value = np.linalg.slogdet(matrix)
    assert sign > 0
    return value


def entropy(joint, rows, noise_var):
    """Entropy of noisy labels, ½ ln det, up to a constant."""
    block = joint[np.ix_(rows, rows)] + noise_var * np.eye(len(rows))
    return 0.5 * logdet(block) if len(rows) else 0.0


def information(joint, picks, targets, noise_var):
    """I(y_picks; y_targets), by log-determinants."""
    both = [*picks, *targets]
    return entropy(joint, picks, noise_var) + entropy(joint, targets, noise_var) - entropy(joint, both, noise_var)


def greedy(value, rows, count):
    """Repeatedly picks the row with the largest value(picks + row)."""
    picks, values = [], []
    for _ in range(count):
        best = max((value([*picks, row]), -row) for row in range(rows) if row not in picks)
        picks.append(-best[1])
        values.append(best[0])
    return picks, np.array(values)


def greedy_itl(pool, targets, count, noise_var):
    joint, rows = covariance(pool, targets), len(pool)
    aim = list(range(rows, rows + len(targets)))
    return greedy(lambda picks: information(joint, picks, aim, noise_var), rows, count)


def greedy_maxdet(pool, count, noise_var):
    joint = covariance(pool)
    return greedy(lambda picks: entropy(joint, picks, noise_var), len(pool), count)


def posterior_vars(pool, targets, picks, noise_var):
    """Var(f_a | y_picks) of every target."""
    joint, rows = covariance(pool, targets), len(pool)
    aim = np.arange(rows, rows + len(targets))
    if not len(picks):
        return np.diag(joint)[aim]
    block = joint[np.ix_(picks, picks)] + noise_var * np.eye(len(picks))
    cross = joint[np.ix_(picks, aim)]
    return np.diag(joint)[aim] - np.einsum("pa,pa->a", cross, np.linalg.solve(block, cross))


def greedy_vtl(pool, targets, count, noise_var):
    return greedy(lambda picks: -posterior_vars(pool, targets, picks, noise_var).sum(), len(pool), count)
