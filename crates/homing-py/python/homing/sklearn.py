"""A scikit-learn-style interface."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from homing._inputs import Embeddings, Rows
from homing._selection import Selection
from homing._selector import Selector
from homing._settings import Options

if TYPE_CHECKING:
    from types import FrameType

    from typing_extensions import Unpack


def _refuse_untransformed(selector: TargetedSelector) -> None:
    """Raises an error if a pipeline has transformed X, but not the targets."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        pipeline = frame.f_locals.get("self") if frame.f_globals.get("__name__") == "sklearn.pipeline" else None
        steps = getattr(pipeline, "steps", None)
        if steps and steps[-1][1] is selector:
            before = [name for name, step in steps[:-1] if step not in (None, "passthrough")]
            if before and "targets" not in (getattr(pipeline, "transform_input", None) or ()):
                raise ValueError(
                    f"the pipeline transforms X by {', '.join(before)}, but not the targets; transform both before this step, "
                    "X = steps.fit_transform(X) and targets = steps.transform(targets) with steps = pipeline[:-1], or create the "
                    "pipeline with transform_input=['targets'] and enable_metadata_routing"
                )
            return
        frame = frame.f_back


class TargetedSelector(BaseEstimator):  # type: ignore[misc]
    """Chooses the rows of X that teach the most about some targets, in batches.

    `n_select` is the size of a batch. The other parameters are those of :func:`homing.select` that a parameter search would
    vary; :meth:`fit` takes the rest.

    Attributes
    ----------
    indices_
        All rows chosen so far, in the order of their choice.
    selection_
        The last batch, as a :class:`homing.Selection`.

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
        kernel: str | npt.NDArray[Any] | None = None,
        center: bool | None = None,
        normalize: bool | None = None,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.n_select = n_select
        self.rule = rule
        self.noise_std = noise_std
        self.kernel = kernel
        self.center = center
        self.normalize = normalize
        self.seed = seed
        self.threads = threads

    def fit(
        self,
        X: Embeddings,
        y: Any = None,
        *,
        targets: Embeddings | None = None,
        observed: Rows | None = None,
        **options: Unpack[Options],
    ) -> TargetedSelector:
        """Sets the pool, the targets, and the rows that are already labelled; `y` is ignored.

        The options are those of :class:`homing.Selector`, such as `groups`, `quotas`, `costs`, `budget` and `forbidden`.

        A pipeline whose earlier steps transform X must transform the targets as well: create it with
        ``transform_input=["targets"]`` and metadata routing. Without that, it is refused.
        """
        if targets is not None:
            _refuse_untransformed(self)
        self.targets_ = targets
        all_options: Options = {
            "kernel": self.kernel,
            "center": self.center,
            "normalize": self.normalize,
            "seed": self.seed,
            "threads": self.threads,
            "progress": False,
            **options,
        }
        self.selector_ = Selector(X, self.rule, self.noise_std, observed, **all_options)
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
        """Returns the rows of the next batch, and marks them as labelled.

        Rules that need class probabilities use `probabilities`, or the ``predict_proba`` of a fitted `estimator`.
        """
        check_is_fitted(self, "selector_")
        if estimator is not None:
            probabilities = np.ascontiguousarray(estimator.predict_proba(self.pool_))
        chosen_targets = self.targets_ if targets is None else targets
        with self.selector_._lock:
            batch = self.selector_.next_batch(chosen_targets, self.n_select if n is None else n, probabilities=probabilities)
            self.selection_ = batch
            self.indices_ = np.concatenate([self.indices_, batch.indices])
        return batch.indices

    def fit_select(
        self,
        X: Embeddings,
        y: Any = None,
        *,
        targets: Embeddings | None = None,
        observed: Rows | None = None,
        **options: Unpack[Options],
    ) -> npt.NDArray[np.int64]:
        """Fits the selector and returns the first batch."""
        return self.fit(X, y, targets=targets, observed=observed, **options).select()

    def observe(self, indices: Rows) -> TargetedSelector:
        """Marks rows as labelled."""
        check_is_fitted(self, "selector_")
        self.selector_.observe(indices)
        return self

    def forget(self, indices: Rows) -> TargetedSelector:
        """Marks rows as not labelled."""
        check_is_fitted(self, "selector_")
        with self.selector_._lock:
            self.selector_.forget(indices)
            self.indices_ = self.indices_[np.isin(self.indices_, self.selector_.observed)]
        return self
