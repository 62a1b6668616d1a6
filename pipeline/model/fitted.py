"""The predictions of a fitted model, returned on the host and logged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from pipeline.backends.base import METHODS, HostModel
from pipeline.backends.cpu import is_xgboost
from pipeline.backends.meta import MetaModel
from pipeline.backends.xgboost.ranking import is_ranker
from pipeline.backends.xgboost.xgboost_model import XGBoostModel
from pipeline.compile.compile import runs_on_blocks
from pipeline.compile.explain import Explanation, explain
from pipeline.compile.plan import copy
from pipeline.errors import DataError, Refused, Unsupported
from pipeline.model import as_given, sharing
from pipeline.model.certificate import Certificate, certify
from pipeline.model.contributions import Contributions, contribute
from pipeline.model.importance import PreparedRows, importance
from pipeline.model.inputs import DaskInput, Input, is_a, refuse_partitions
from pipeline.model.lifted import Lifts
from pipeline.model.methods import spec_has
from pipeline.model.routing import METHODS as METADATA
from pipeline.model.routing import WEIGHTS, as_sklearn_takes, route_to_last
from pipeline.system.environment import packages
from pipeline.table import frames
from pipeline.table.output import categorize, container, framed
from pipeline.table.schema import Schema
from pipeline.table.shared import SharedRows
from pipeline.trace import ANSWER, ExecutionLog, execution_log
from pipeline.typing import Array, Estimator, Params, Table, Target

_NATIVE = (HostModel, XGBoostModel, MetaModel)
"""Models that predict the classes of their native estimator."""


class Answers(Lifts):
    """The methods of a fitted model that change nothing in it."""

    # The steps of the estimator request metadata, not the model.
    __metadata_request__score = {WEIGHTS: UNUSED}

    device: str
    dtype: str
    fallback: bool | None
    checkpoint: Any
    host_bytes: int | None
    device_: str
    execution_log_: ExecutionLog
    inputs_: Input
    _prefixes: Sequence[str] = ()

    def _call(self, method: str, X: Table, **params: Any) -> tuple[Any, Any]:
        """Return the rows as they were taken, and the result on the host."""
        # scikit-learn's check walks the tags of the whole estimator, which takes longer than a row.
        if not hasattr(self, "plan_"):
            self._refuse(method, params)
        self._check_unchanged()
        if isinstance(X, PreparedRows):
            return X, self._on_host(X.call(method, **params))
        if not isinstance(X, SharedRows) or not self._prefixes:
            X = as_given.materialize(X)
        n_rows = 0 if self.host_bytes is None else as_given.count_if_known(X)
        log_of = execution_log(host_bytes=self.host_bytes, n_rows=n_rows)
        with as_given.sparse_refused(X), log_of as log:
            try:
                made = self._call_plan(method, X, params)
            except Refused as refused:
                X = as_given.materialize(X)
                asked = self.plan_.as_given or self._wants_another_container(method, X)
                if asked or not self._may_ask(self.device_, refused, X):
                    raise
                made = X, as_given.ask_lifted(self, method, X, params, refused)
        self.execution_log_.last = log
        return made

    def _refuse(self, method: str, params: Params) -> None:
        """Raise that the model is not fitted, or what is wrong with what it is given."""
        asked = {name: value for name, value in params.items() if name != "y"}
        if asked and method in METADATA:
            route_to_last(self, method, asked)
        check_is_fitted(self, "plan_")

    def _call_plan(self, method: str, X: Table, params: Params) -> tuple[Any, Any]:
        params = {**params}
        y = {"y": params.pop("y")} if "y" in params else {}
        if method == "transform" and self._wants_another_container(method, X):
            made = as_given.transform_into(self, self._container, X, params)
            return as_given.AS_IT_IS, made
        if self.plan_.as_given:
            params = as_sklearn_takes(self, method, params)
            return X, as_given.call(self.plan_, method, X, y.get("y"), params)
        if params and method in METADATA:
            params = route_to_last(self, method, params)
            if params and runs_on_blocks(self.estimator):  # `copy` is all that any takes
                X = as_given.materialize(X)
                return X, getattr(self._lifted, method)(frames.to_device(X, "cpu"), **params)
        if X is None and method == "kneighbors":
            return X, self._on_host(self.plan_.steps[-1].call(method, X, **params))
        if isinstance(X, SharedRows):
            rows = sharing.transform(self.plan_, self._prefixes, self.inputs_, X)
            return X, self._on_host(self.plan_.steps[-1].call(method, rows, **y, **params))
        if isinstance(self.inputs_, Schema) and self.inputs_.knows(X):
            return X, self._on_host(self.plan_.call(method, X, **y, **params))
        if isinstance(self.inputs_, Schema) and not params.get("validate_features", True):
            X = self.inputs_.by_position(X)  # XGBoost is to ignore names
        X = self.inputs_.take(X)
        return X, self._on_host(self._answer(method, X, {**y, **params}))

    @property
    def _container(self) -> str:
        """What `transform` returns: "default", "pandas" or "polars"."""
        return container(framed(self, self.estimator))

    def _wants_another_container(self, method: str, X: Table) -> bool:
        """Return whether another container is requested than in `fit`."""
        if method != "transform" or self.device_ != "cpu" or frames.is_partitioned(X):
            return False
        return self._container != container(self.plan_.estimator)

    def _answer(self, method: str, X: Table, params: Params) -> Any:
        """Return what the plan says of rows that were taken; scikit-learn of sparse ones."""
        if not self._takes(X):
            if self.device_ != "cpu" or frames.is_partitioned(X):
                raise DataError(
                    "X is sparse, but the model was fitted on dense rows; pass X.toarray(), or "
                    "X.sparse.to_dense() for a frame"
                )
            return as_given.ask(self, method, X, params, "X is sparse")
        return self.plan_.call(method, X, **params)

    def _takes(self, X: Table) -> bool:
        """Return whether rows are such as the plan is for, or it is for sparse ones as well."""
        takes = self.inputs_
        if not isinstance(takes, Schema | DaskInput) or takes.sparse:
            return True
        used = takes.used if isinstance(takes, Schema) else None
        return not frames.holds_sparse(X, used) or not self.plan_.programs

    @property
    def _falls_back(self) -> bool:
        return self.device == "auto" if self.fallback is None else self.fallback

    def _may_ask(self, device: str, refused: Refused, X: Table) -> bool:
        """Return whether scikit-learn may run what a device does not support."""
        anywhere = device == "cpu" or self._falls_back
        new = not refused.final and not frames.is_partitioned(X)
        return anywhere and new and self.checkpoint is None

    def _on_host(self, result: Any) -> Any:
        if isinstance(result, np.ndarray):
            return result
        if isinstance(result, tuple):
            return tuple(self._on_host(each) for each in result)
        if frames.device_of(result) == "cpu" or frames.is_partitioned(result):
            return result
        return copy(result, "cpu", "output", ANSWER)

    @spec_has("predict")
    def predict(self, X: Table, **params: Any) -> Any:
        """Return the predicted labels or values on the host, shape (n_rows,).

        Parameters
        ----------
        X : table
        **params
            Passed to the last step, such as ``return_std``; the result may then be a tuple.
        """
        return self._named(self._plain(self._call("predict", X, **params)[1]))

    @spec_has("kneighbors")
    def kneighbors(
        self, X: Table = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Return the distances and the row numbers of the nearest training rows, on the host.

        Parameters
        ----------
        X : table, optional
            By default the training rows, none of which is its own neighbor.
        n_neighbors : int, optional
            By default that of the estimator.
        return_distance : bool, default=True
            Whether to return the distances too, before the row numbers; each has the shape
            (n_rows, n_neighbors).
        """
        asked = {"n_neighbors": n_neighbors, "return_distance": return_distance}
        return self._call("kneighbors", X, **asked)[1]

    @spec_has("radius_neighbors_graph")
    def radius_neighbors_graph(self, X: Table, radius: float | None = None) -> Any:
        """Return the training rows within a radius of each row: a sparse matrix of ones.

        On the host, shape (n_rows, n_training_rows). X must be given; `radius` is the estimator's
        by default.
        """
        return self._call("radius_neighbors_graph", X, radius=radius)[1]

    @spec_has("predict_proba")
    def predict_proba(self, X: Table, **params: Any) -> Any:
        """Return the class probabilities on the host, shape (n_rows, n_classes).

        A list with an array per target where scikit-learn returns a list. `params` are passed to
        the last step, as in the methods below.
        """
        return self._plain(self._call("predict_proba", X, **params)[1])

    @spec_has("predict_log_proba")
    def predict_log_proba(self, X: Table, **params: Any) -> Any:
        """Return the logarithms of what `predict_proba` returns."""
        return self._plain(self._call("predict_log_proba", X, **params)[1])

    @spec_has("decision_function")
    def decision_function(self, X: Table, **params: Any) -> Any:
        """Return the decision values on the host."""
        return self._plain(self._call("decision_function", X, **params)[1])

    @spec_has("score_samples")
    def score_samples(self, X: Table, **params: Any) -> Any:
        """Return the score of each row on the host, shape (n_rows,)."""
        return self._plain(self._call("score_samples", X, **params)[1])

    @spec_has("inverse_transform")
    def inverse_transform(self, X: Table, **params: Any) -> Any:
        """Return the inverse transform of X, computed by scikit-learn on the host."""
        if hasattr(self, "plan_"):
            self._check_unchanged()
        return self._lifted.inverse_transform(X, **params)

    @spec_has("score")
    def score(
        self, X: Table, y: Target = None, *, sample_weight: Array = None, **params: Any
    ) -> float:
        """Return the accuracy of a classifier, R² of a regressor, or the estimator's own score.

        The score of XGBoost's ranker needs ``qid``, the query of each row, or a column ``qid``.
        """
        if sample_weight is not None:
            params["sample_weight"] = frames.to_device(sample_weight, "cpu")
        if not hasattr(self, "plan_"):
            self._refuse("score", params)
        ranks = is_ranker(last_of(self.estimator)) and "qid" not in params
        if ranks and "qid" in getattr(X, "columns", ()) and "qid" not in (self.inputs_.names or ()):
            X, params = X.drop(columns="qid"), {**params, "qid": X["qid"]}
        if y is not None and not self.plan_.as_given:
            y = np.asarray(frames.to_device(y, "cpu"))
        own = getattr(type(last_of(self.estimator)), "score", None)
        given = self.plan_.as_given and self._own_classes() is None
        if given or own not in (ClassifierMixin.score, RegressorMixin.score):
            made = self._call("score", X, **({} if y is None else {"y": y}), **params)[1]
        else:
            params = route_to_last(self, "score", params) if params else params
            made = own(self, X, y, **params)
        return made if isinstance(made, float) else float(made)  # NumPy's are floats, too

    def contributions(self, X: Table, *, background: Table = None) -> Contributions:
        """Return what each column of the table adds to the prediction for each row.

        XGBoost is explained by its own TreeSHAP on the device of the model, trees of scikit-learn
        by shap's, linear models by ``coef * (x - mean)``. If the steps compute several features
        from a column, their values are added up.

        Parameters
        ----------
        X : table
            One table, without partitions.
        background : table, optional
            For a linear model: the rows with whose means X is compared. By default the training
            rows, without weights. Trees do not need it.

        Returns
        -------
        Contributions
            The values of a row and its base value sum to the prediction, within 1e-4 of the
            largest of them, or of 1. Each call checks this.

        Raises
        ------
        Unsupported
            The last step has no exact explanation.
        DataError
            The table cannot be used, or the model does not store the means of its training rows
            because an older version saved it or scikit-learn ran the pipeline as one step.
        ParityError
            The sums differ from the predictions.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.linear_model import LinearRegression
        >>> from pipeline import Accelerated
        >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 4.0]])
        >>> model = Accelerated(LinearRegression(), device="cpu").fit(X, 3 * X[:, 0] - X[:, 1])
        >>> found = model.contributions(X)
        >>> found.values.round(6).tolist()
        [[-3.0, 1.0], [0.0, 1.0], [3.0, -2.0]]
        >>> bool(np.allclose(found.values.sum(axis=1) + found.base_values, model.predict(X)))
        True
        """
        check_is_fitted(self, "plan_")
        self._check_unchanged()
        X = as_given.materialize(X)
        n_rows = as_given.count_if_known(X)
        with execution_log(host_bytes=self.host_bytes, n_rows=n_rows) as log:
            made = contribute(self, X, background)
        self.execution_log_.last = log
        return made

    def certify(
        self,
        X: Table,
        *,
        rtol: float = 1e-4,
        atol: float = 1e-5,
        differing: float = 1e-3,
    ) -> Certificate:
        """Compare the predictions of the lifted scikit-learn model with this model's.

        Parameters
        ----------
        X : table
            Rows like those to be predicted; not necessarily training rows. The lifted model gets
            them in the form in which they are passed, or as pandas and NumPy for cuDF and CuPy.
        rtol, atol : float
            Two numbers agree if they differ by at most ``atol + rtol * abs(lifted)``.
        differing : float
            Share of rows that may differ: rounding can move a number to the other side of a tree's
            threshold.

        Returns
        -------
        Certificate
            Also stored as `certificate_`. Its ``require()`` raises an error if the predictions
            differ.

        Raises
        ------
        ConfigError
            There are no rows, or the estimator, such as `DBSCAN`, cannot predict new ones.
        """
        check_is_fitted(self, "plan_")
        self._check_unchanged()
        X = as_given.materialize(X)
        refuse_partitions(X, "a certificate")
        taken = self.inputs_.take(X)
        given = X
        if is_xgboost(self.estimator):  # which takes categories instead of text
            given = X if isinstance(X, np.ndarray) or frames.is_sparse(X) else taken
        given = frames.to_device(given, "cpu")
        if frames.is_frame(given) and is_xgboost(self.estimator):
            given = categorize(given)
        lifted, ours = self.to_sklearn(), self._predictions(taken)
        tolerance = {"rtol": rtol, "atol": atol, "differing": differing}
        n_rows = as_given.count_if_known(taken)
        found = certify(ours, lambda name: getattr(lifted, name)(given), n_rows, tolerance)
        kind = type(given)
        self.certificate_ = Certificate(
            device=self.device_,
            rows=n_rows,
            passed=f"{kind.__module__.partition('.')[0]}.{kind.__name__}",
            **tolerance,
            differences=found,
            packages=packages(),
        )
        return self.certificate_

    def _predictions(self, sample: Table) -> dict[str, Any]:
        """Return the results of each method of the model on its device."""
        found: dict[str, Any] = {}
        for method in (name for name in METHODS if hasattr(self, name)):
            try:
                answer = self._on_host(self._answer(method, sample, {}))
            except Unsupported:  # as by cuML's PCA, which scores no rows
                continue
            labels = method == "predict" and is_a(self.estimator, "classifier")
            found[method] = np.asarray(answer, dtype=object) if labels else answer
        return found

    def importance(
        self,
        X: Table,
        y: Target = None,
        *,
        scoring: Any = None,
        repeats: int = 5,
        random_state: Any = None,
        sample_weight: Array = None,
        max_samples: float = 1.0,
    ) -> Any:
        """Return how much of a score is lost when the values of one column are permuted.

        With an integer `random_state`, the numbers are exactly those of
        `sklearn.inspection.permutation_importance` for this model. The rows are transformed once:
        the matrix columns that depend on one column only are permuted, and those that depend on
        several are computed again. Your own scorer, which may read X, is called as in scikit-learn,
        unless it has an attribute ``reads_answers_only = True``.

        Parameters
        ----------
        X : table, shape (n_rows, n_columns)
            The training rows or, better, held-out rows; not in partitions.
        y : array-like of shape (n_rows,), optional
        scoring : str, callable, list of str or dict, optional
            As in scikit-learn; by default, the `score` of the model.
        repeats : int, default=5
            How often each column is permuted.
        random_state : int or numpy.random.RandomState, optional
        sample_weight : array-like of shape (n_rows,), optional
            Passed to the scorers.
        max_samples : int or float, default=1.0
            The number of rows, or their share, to permute and to score; drawn once.

        Returns
        -------
        Importance, or dict of them by the name of the score
            A `sklearn.utils.Bunch` with ``importances``, shape (n_columns, repeats),
            ``importances_mean`` and ``importances_std``, shape (n_columns,), and the
            ``feature_names`` of the columns.

        Raises
        ------
        ConfigError
            `scoring`, `repeats` or `max_samples` cannot be used.
        DataError
            X has partitions or no columns.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> from pipeline import Accelerated
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = Accelerated(LogisticRegression(max_iter=200), device="cpu").fit(X, y)
        >>> found = model.importance(X, y, random_state=0)
        >>> found.feature_names[found.importances_mean.argmax()]
        'petal length (cm)'
        """
        check_is_fitted(self, "plan_")
        self._check_unchanged()
        return importance(
            self,
            as_given.materialize(X),
            y,
            scoring,
            n_repeats=repeats,
            random_state=random_state,
            sample_weight=frames.to_device(sample_weight, "cpu"),
            max_samples=max_samples,
        )

    def explain(self, X: Table = None) -> Explanation:
        """Return where each step would run, as `pipeline.explain` does, fitted or not.

        Parameters
        ----------
        X : table, optional
            The rows to fit. For a Dask frame or array, each step says what happens to its
            partitions; none is computed.
        """
        return explain(self.estimator, self.device, X, dtype=self.dtype)

    def _named(self, made: Any) -> Any:
        """Return the labels of predicted codes, if the user has set `classes_`."""
        labels = self._own_classes() if "classes_" in vars(self) else None
        return made if labels is None else labels[np.searchsorted(self._learnt_classes, made)]

    def _own_classes(self) -> Any:
        """Return the labels that were set after `fit`; None if there are none."""
        classes, learnt = vars(self).get("classes_"), self._learnt_classes
        if not isinstance(learnt, np.ndarray) or classes is None:
            return None
        missing = learnt.dtype.kind == np.asarray(classes).dtype.kind == "f"  # NaN is a label, too
        same = np.array_equal(learnt, classes, equal_nan=missing)
        return None if same else np.asarray(classes)

    @property
    def _learnt_classes(self) -> Any:
        """The labels that the estimator has learned; None if it does not say."""
        worker = self.plan_.steps[-1].worker
        return getattr(worker.native, "classes_", None) if isinstance(worker, _NATIVE) else None

    def _plain(self, made: Any) -> Any:
        """Return a result as arrays; that of scikit-learn itself, unchanged."""
        if self.plan_.as_given or isinstance(made, tuple) or frames.is_sparse(made):
            return made
        return [np.asarray(m) for m in made] if isinstance(made, list) else np.asarray(made)


def last_of(estimator: Estimator) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
