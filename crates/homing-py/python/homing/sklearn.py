"""Selection with scikit-learn's manners."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from homing._inputs import Embeddings, Rows
from homing._selection import Selection
from homing._selector import Selector


class TargetedSelector(BaseEstimator):  # type: ignore[misc]
    """Chooses rows of X that teach most about some targets, batch after batch.

    Parameters are those of :func:`homing.select`; `n_select` is the size of a batch.

    Attributes
    ----------
    indices_
        All rows chosen so far, in their order.
    selection_
        The last batch.

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((300, 5)), rng.integers(0, 3, 300)
    >>> selector = TargetedSelector(n_select=20).fit(X, targets=X[:4])
    >>> rows = selector.select()
    >>> model = LogisticRegression().fit(X[rows], y[rows])
    >>> uncertain = TargetedSelector(rule="max-entropy").fit(X)
    >>> len(uncertain.select(5, estimator=model))
    5
    """

    def __init__(
        self,
        n_select: int = 10,
        *,
        rule: str = "itl",
        noise_std: float | None = None,
        kernel: str | npt.NDArray[Any] = "linear",
        center: bool = False,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.n_select = n_select
        self.rule = rule
        self.noise_std = noise_std
        self.kernel = kernel
        self.center = center
        self.seed = seed
        self.threads = threads

    def fit(
        self,
        X: Embeddings,
        y: Any = None,
        *,
        targets: Embeddings | None = None,
        observed: Rows | None = None,
        **more: Any,
    ) -> TargetedSelector:
        """Takes the pool, the targets, and what is labelled already; `y` is not looked at.

        Further arguments are those of :class:`homing.Selector`: groups, quotas, costs, budget, forbidden.
        """
        self.targets_ = targets
        self.selector_ = Selector(
            X,
            self.rule,
            self.noise_std,
            observed,
            seed=self.seed,
            threads=self.threads,
            progress=False,
            kernel=self.kernel,
            center=self.center,
            **more,
        )
        self.pool_ = X
        view = self.selector_._view()
        self.n_features_in_, self.n_samples_ = view.dim, view.rows
        self.indices_ = np.empty(0, dtype=np.int64)
        self.selection_: Selection | None = None
        return self

    def select(
        self,
        n: int | None = None,
        *,
        estimator: Any = None,
        probabilities: Embeddings | None = None,
        targets: Embeddings | None = None,
    ) -> npt.NDArray[np.int64]:
        """The rows of the next batch; they count as labelled from then on.

        Rules of class probabilities take those of a fitted `estimator` with ``predict_proba``, or `probabilities` themselves.
        """
        check_is_fitted(self, "selector_")
        if estimator is not None:
            probabilities = np.ascontiguousarray(estimator.predict_proba(self.pool_))
        aim = self.targets_ if targets is None else targets
        with self.selector_._lock:
            batch = self.selector_.next_batch(aim, self.n_select if n is None else n, probabilities=probabilities)
            self.selection_ = batch
            self.indices_ = np.concatenate([self.indices_, batch.indices])
        return batch.indices

    def fit_select(self, X: Embeddings, y: Any = None, **more: Any) -> npt.NDArray[np.int64]:
        """The first batch."""
        return self.fit(X, y, **more).select()

    def observe(self, indices: Rows) -> TargetedSelector:
        """Takes rows as labelled."""
        check_is_fitted(self, "selector_")
        self.selector_.observe(indices)
        return self

    def forget(self, indices: Rows) -> TargetedSelector:
        """Takes rows as not labelled."""
        check_is_fitted(self, "selector_")
        with self.selector_._lock:
            self.selector_.forget(indices)
            self.indices_ = self.indices_[np.isin(self.indices_, self.selector_.observed)]
        return self
