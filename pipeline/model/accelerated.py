"""`Accelerated`: a scikit-learn estimator, fitted and applied on the device of choice."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter
from sklearn.utils.metaestimators import available_if

from pipeline.backends.base import HostModel
from pipeline.backends.xgboost.checkpoints import Checkpoints, keeping
from pipeline.backends.xgboost.xgboost_model import XGBoostModel
from pipeline.compile.choose import choose_for, report_fallbacks
from pipeline.compile.compile import compile, spec_for, takes_sparse
from pipeline.compile.lower import LoweringOptions, make_plan
from pipeline.compile.plan import Plan
from pipeline.compile.program import Program
from pipeline.compile.source_code import code
from pipeline.errors import ConfigError, DataError, Reason, Refused, Unsupported
from pipeline.files.table_format import TableFormat
from pipeline.model import as_given, inputs, sharing
from pipeline.model.fitted import Answers
from pipeline.model.inputs import is_a, tags_of
from pipeline.model.lifted import COLUMNS
from pipeline.model.methods import by_position, learns_in_batches, needs_fit, spec_has, weighted
from pipeline.model.routing import (
    WEIGHTS,
    Requested,
    as_sklearn_takes,
    check_transform_input,
    hand_over,
    refuse_metadata,
    route,
    router,
)
from pipeline.optional import load
from pipeline.system.devices import Choice, prepare_memory
from pipeline.table import frames, target
from pipeline.table.borrowed import Held, borrow, continuing
from pipeline.table.drift import ColumnProfile, fit_profiles
from pipeline.table.output import CONTAINERS, contained, container, framed, hand_on, names_columns
from pipeline.table.schema import Schema
from pipeline.table.shared import SharedRows, table_of
from pipeline.trace import ExecutionLog, execution_log
from pipeline.typing import Array, Estimator, Params, ReadParams, Table, Target


class _Learnt(NamedTuple):
    """The result of a fit."""

    choice: Choice
    plan: Plan
    takes: inputs.Input
    X: Any
    """The rows as the plan takes them."""
    y: Any
    made: Any
    """What the method returns."""
    prefixes: Sequence[str] = ()
    """The keys under which calls on the same rows of a shared table find cached results."""


class Accelerated(Answers):
    """A scikit-learn estimator, fitted and applied on a device.

    Parameters
    ----------
    estimator : estimator
        A scikit-learn or XGBoost estimator, or a `Pipeline` of them. A copy is fitted. The
        estimator itself does not change, except that a random generator it holds, such as a
        `RandomState`, advances. With ``warm_start=True``, `fit` continues from the fit before.
    device : {"auto", "cpu", "cuda"}, default="auto"
        ``"cuda"`` is strict: a step without an equivalent is an error. ``"auto"`` uses a GPU
        if there is one and the job is large enough, runs such steps on the host, and reports
        them.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Type of the matrix that the last estimator learns from, or that preprocessing returns.
        "auto" is the type that scikit-learn would use, with two exceptions: float32 for trees,
        which convert to it anyway, and float32 on a GPU, except for estimators that need more
        digits (`explain` says so). Between steps, the type is always scikit-learn's; statistics
        are always float64.
    fallback : bool, optional
        Whether steps that the device cannot run may run on the host. By default
        only with ``device="auto"``.
    host_bytes : int, optional
        Most bytes of rows that a fit or a prediction may copy from the device to the host; no
        limit by default. Fitted attributes, predictions, `y` and weights do not count.
    profile : bool, default=False
        Whether to store ranges, values and missing rates of the columns as well. A record of
        predictions then shows how far its rows are from the training rows. This takes one more
        pass over the table, on the host.
    checkpoint : str or Path, optional
        Folder in which the trees of XGBoost are saved while it trains. A `fit` of the same rows
        with the same estimator continues from these trees, and removes them after a
        complete fit.

    Attributes
    ----------
    device_ : str
        The device in use, and `device_why_` the reason.
    plan_ : Plan
        The compiled steps; ``plan_.placements`` says where each step runs.
    execution_log_ : ExecutionLog
        What ran where, for how long, and how many bytes were copied: in the last `fit`, then
        in the prediction that ended last, even if several run at the same time.
    profile_ : dict of str to pipeline.table.drift.ColumnProfile
        The result of `profile`, for the columns that some step reads.
    classes_ : numpy.ndarray
        The labels of a classifier. XGBoost's classifiers only learn 0, 1, …, n - 1: after a fit
        on the codes of a `LabelEncoder`, set its labels here, and the model predicts these.
    table_format_ : TableFormat or None
        How files for predictions are read, if the model was saved with it.
    target_names_ : list of str or None
        The names of several targets, if they have names.
    certificate_ : Certificate
        The result of the last `certify` since the fit.
    n_features_in_ : int
    feature_names_in_ : numpy.ndarray of str
        If the table has column names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = Accelerated(LogisticRegression(), device="cpu").fit(X, y)
    >>> model.predict(X).tolist()
    [0, 0, 1, 1]
    >>> type(model.to_sklearn()).__name__
    'LogisticRegression'
    """

    table_format_: TableFormat | None
    target_names_: list[str] | None

    # The steps of the estimator request metadata, not the model.
    __metadata_request__fit = {WEIGHTS: UNUSED}

    def __init__(
        self,
        estimator: BaseEstimator,
        device: str = "auto",
        *,
        dtype: str = "auto",
        fallback: bool | None = None,
        host_bytes: int | None = None,
        profile: bool = False,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.estimator = estimator
        self.device = device
        self.dtype = dtype
        self.fallback = fallback
        self.host_bytes = host_bytes
        self.profile = profile
        self.checkpoint = checkpoint

    @weighted
    def fit(
        self, X: Table, y: Target = None, *, sample_weight: Array = None, **params: Any
    ) -> Accelerated:
        """Fit the estimator.

        Parameters
        ----------
        X : table or sequence of str, shape (n_rows, n_columns) or (n_texts,)
            pandas, Polars, Arrow, cuDF, NumPy, CuPy, SciPy's sparse, Dask or dask-cuDF; texts
            where the first step reads text. Or `pipeline.shared` of one of these: fits on the
            same rows then share preprocessing.
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional
            If the last step supports them.
        **params
            Passed to the `fit` of the last step, as ``name`` or ``step__name``; a `StandardScaler`
            also takes ``step__sample_weight``. With scikit-learn's metadata routing, they and
            `sample_weight` go to the steps that request them. The tables of XGBoost's ``eval_set``
            are transformed by the steps fitted on X. A ranker takes ``qid``, the query of each
            row, in any order, or ``group``.

        Raises
        ------
        Unsupported
            A step has no equivalent on the device; every reason is in the error.
        DeviceUnavailable
            ``device="cuda"`` and there is no usable GPU.
        DataError
            The table or the target cannot be used.
        CheckpointDiffers
            The folder `checkpoint` holds the trees of another training.
        BudgetExceeded
            A step would copy more rows to the host than `host_bytes` allows.
        """
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        self._learn("fit", X, y, params)
        return self

    @spec_has("fit_predict")
    def fit_predict(self, X: Table, y: Target = None, **params: Any) -> np.ndarray:
        """Fit, and return the labels of the training rows on the host, shape (n_rows,).

        `params` are those of `fit`.
        """
        return np.asarray(self._learn("fit_predict", X, y, params)[1])

    @spec_has("fit_transform")
    def fit_transform(self, X: Table, y: Target = None, **params: Any) -> Any:
        """Fit, and return the transformed training rows on the host, as `transform` does.

        A `TargetEncoder` encodes each row with the targets of other folds. `params` are those of
        `fit`.
        """
        taken, made = self._learn("fit_transform", X, y, params)
        return self._contained(made, taken)

    @available_if(learns_in_batches)
    @by_position
    def partial_fit(self, X: Table, y: Target = None, **params: Any) -> Accelerated:
        """Learn from more rows.

        Available for estimators that have the method in scikit-learn, and for transformers if each
        column passes through one step only and no step needs the target of all rows. For the
        latter, all batches together give the result of `fit`.
        """
        if not hasattr(self, "plan_"):
            self._learn("partial_fit", X, y, params)
            return self
        self._check_unchanged()
        X = as_given.materialize(X)
        n_rows = as_given.count_if_known(X)
        with execution_log(host_bytes=self.host_bytes, n_rows=n_rows) as log:
            if self.plan_.as_given:
                given = as_sklearn_takes(self, "partial_fit", params)
                as_given.call(self.plan_, "partial_fit", X, y, given)
            else:
                params = {name: target.on_host(each, name) for name, each in params.items()}
                asked, params = self._route_fit("partial_fit", params, self.estimator)
                X = self.inputs_.take(X)
                if not self._takes(X):
                    raise DataError("X is sparse, but earlier batches were dense; pass X.toarray()")
                with hand_over(self.plan_.programs, asked, X):
                    self.plan_.fit(X, target.check_target(y, X), "partial_fit", **params)
        self._forget()
        self.execution_log_ = log
        return self

    def _learn(self, method: str, X: Table, y: Target, params: Params) -> tuple[Any, Any]:
        """Lower the estimator, call a method of the plan, and keep the results if it succeeds."""
        if self.dtype not in ("auto", "float32", "float64"):
            raise ConfigError(f"dtype={self.dtype!r}: choose 'auto', 'float32' or 'float64'")
        if self.host_bytes is not None and self.host_bytes < 0:
            raise ConfigError(f"host_bytes={self.host_bytes!r} is negative; pass 0 or more")
        given, shares = X, isinstance(X, SharedRows) and method == "fit"
        X = X if shares else as_given.materialize(X)
        table = table_of(X)
        choice = choose_for(self.device, self.estimator, table)
        prepare_memory(choice.name)
        n_rows = as_given.count_if_known(X)
        log_of = execution_log(host_bytes=self.host_bytes, n_rows=n_rows)
        held = Held(self.estimator)
        before = [*self.plan_.fitted()] if "plan_" in vars(self) else []
        with as_given.sparse_refused(table), log_of as log, continuing(before):
            if params:
                params = {name: target.on_host(each, name) for name, each in params.items()}
            try:
                with held.draws_once():
                    learnt = self._learn_lowered(choice, method, X, y, params)
            except Refused as refused:
                if not self._may_ask(choice.name, refused, X):
                    raise
                learnt = self._learn_as_given(method, X, y, params, refused)
        own = self.__dict__  # `__setattr__` need not look at what is the model's own
        own.update(table_format_=None, target_names_=target.names(y))
        report_fallbacks(self.device, choice, learnt.plan)
        choice, plan, takes, X, y, made, prefixes = learnt
        own.update(plan_=plan, inputs_=takes, _prefixes=prefixes, execution_log_=log)
        own.update(device_=choice.name, device_why_=choice.why, profile_={})
        if shares:
            X = self.inputs_.take(given.rows()) if self.profile else given
        if self.profile and isinstance(self.inputs_, Schema) and not frames.is_sparse(X):
            self.profile_ = fit_profiles(self.inputs_.read(X))
        self._set_attributes(y)
        self._remember_parameters(held)
        return X, made

    def _learn_lowered(
        self, choice: Choice, method: str, X: Table, y: Target, params: Params
    ) -> _Learnt:
        """Learn from rows that our own policy accepts, by the plan for a device."""
        inputs.warn_of_labels(params, X)
        given = params
        estimator = framed(self, self.estimator)
        asked, params = self._route_fit(method, params, estimator)
        if choice.name == "cpu" and as_given.makes_frames(estimator, X):
            frames_of = DataError("its output for a frame is a frame")
            return self._learn_as_given(method, X, y, given, frames_of)
        spec = spec_for(estimator, table_of(X), choice.name)
        if spec.form == "sparse" and method == "partial_fit" and not hasattr(estimator, method):
            why = "scikit-learn runs this on sparse rows, and has no partial_fit for it"
            step = type(estimator).__name__.lower()
            raise Unsupported(Reason(step, why, "call fit with all rows"))
        # Transformers of scikit-learn are given what they ask for by scikit-learn.
        sparse = DataError("X is sparse") if spec.form == "sparse" and asked else None
        if sparse and self._may_ask(choice.name, sparse, X):
            return self._learn_as_given(method, X, y, given, sparse)
        whole = compile(estimator, spec)
        prints = choice.name == "cpu" and as_given.prints_steps(whole)
        if prints and not isinstance(X, SharedRows) and not frames.is_partitioned(X):
            printed = DataError("scikit-learn prints the messages of verbose=True")
            return self._learn_as_given(method, X, y, given, printed)
        X = as_given.materialize(X) if asked else X
        apart = isinstance(X, SharedRows)
        plan = make_plan(whole, LoweringOptions(self._falls_back, self.dtype, apart))
        shared: ReadParams = {}
        keys: Sequence[str] = ()
        if apart:
            takes, X, shared, keys = sharing.begin_fit(X, y, plan)
        else:
            takes, X = inputs.fit_input(plan.ops[0], X)
        if params.get("eval_set"):
            sets = list(inputs.validate_eval_set(params["eval_set"], takes))
            ready = partial(sharing.transform, plan, keys, takes)
            params = {**params, "eval_set": sets, "prepare": ready}
        first = plan.steps[0].worker
        if isinstance(first, Program) and isinstance(takes, Schema):
            first.origins = takes.origins
        y = target.check_target(y, X)
        target.check_classes(self.estimator, y)
        weighed = hand_over(plan.programs, asked, X) if asked else nullcontext()
        keeps = self.checkpoint is not None
        with weighed, keeping(checkpoints_of(self)) if keeps else nullcontext() as trees:
            made = self._on_host(plan.fit(X, y, method, **{**params, **shared}))
        if trees is not None:
            plan.steps[-1].note(trees.remark)
        return _Learnt(choice, plan, takes, X, y, made, keys)

    def _learn_as_given(
        self, method: str, X: Table, y: Target, params: Params, refused: Refused
    ) -> _Learnt:
        """Let scikit-learn learn from the rows as they are."""
        X = as_given.materialize(X)
        plan, made = as_given.learn(self, method, X, y, params, refused)
        takes = as_given.GivenInput(plan.to_sklearn())
        return _Learnt(Choice("cpu", f"run by scikit-learn: {refused}"), plan, takes, X, y, made)

    def _route_fit(
        self, method: str, params: Params, estimator: Estimator
    ) -> tuple[Sequence[Requested], dict[str, Any]]:
        """Return what transformers of an estimator request, and what goes to its last step."""
        if method == "fit":
            check_transform_input(estimator)
        if not params:
            return (), {}
        asked, last = route(type(self)(estimator), method, params)
        if method == "partial_fit":
            others = [each for each in asked if not hasattr(each.transformer, "partial_fit")]
            refuse_metadata(others, "partial_fit passes no metadata to it")
        return asked, last

    def resume(
        self,
        plan: Plan,
        takes: inputs.Input,
        choice: Choice,
        *,
        classes: Array,
        profile: dict[str, ColumnProfile],
    ) -> Accelerated:
        """Restore a saved model; called by `pipeline.load`."""
        self.device_, self.device_why_ = choice.name, choice.why
        self.plan_, self.inputs_, self.profile_ = plan, takes, profile
        self.table_format_, self.target_names_ = None, None
        if isinstance(takes, Schema):
            takes.objects = inputs.keeps_objects(plan.ops[0])
        self.execution_log_ = ExecutionLog([])
        self._set_columns()
        if classes is not None:
            self.classes_ = classes
        self._remember_parameters(Held(self.estimator))
        return self

    def _set_attributes(self, y: Target) -> None:
        self._set_columns()
        own = self.__dict__
        own.pop("classes_", None)
        worker = self.plan_.steps[-1].worker
        known = getattr(getattr(worker, "native", None), "classes_", None)
        if isinstance(worker, HostModel | XGBoostModel) and known is not None:
            own["classes_"] = known
        elif is_a(self.estimator, "classifier") and y is not None:
            same = isinstance(known, np.ndarray) and known.dtype == y.dtype
            own["classes_"] = known if same else target.classes(y)

    def _set_columns(self) -> None:
        self._forget()
        own, names = self.__dict__, self.inputs_.names
        for name in COLUMNS:
            own.pop(name, None)
        if self.inputs_.n_features is not None:
            own["n_features_in_"] = self.inputs_.n_features
        if names and {*map(type, names)} == {str}:  # as scikit-learn takes names for such
            own["feature_names_in_"] = np.array(names, dtype=object)

    @spec_has("transform")
    def transform(self, X: Table, **params: Any) -> Any:
        """Return the transformed table on the host, shape (n_rows, n_outputs).

        A frame if `set_output` requests one; for partitions, a Dask array or frame. `params` are
        passed to the last step. A stateless estimator, such as a `Normalizer`, needs no `fit`.
        """
        model = self if hasattr(self, "plan_") or needs_fit(self.estimator) else borrow(self).fit(X)
        taken, made = model._call("transform", X, **params)
        made = model._contained(made, taken)
        rows = made[0] if isinstance(made, tuple) else made
        if isinstance(taken, np.ndarray) and frames.is_frame(X) and isinstance(rows, pd.DataFrame):
            rows.index = X.index  # its columns were read by position
        return made

    def _contained(self, made: Any, taken: Any) -> Any:
        if isinstance(made, tuple):  # in scikit-learn, scores of y are no frame
            return self._contained(made[0], taken), *made[1:]
        estimator = framed(self, self.estimator)
        how, fitted = container(estimator), container(self.plan_.estimator)
        own = taken is as_given.AS_IT_IS or (self.plan_.as_given and how == fitted)
        if own or frames.is_partitioned(made):
            return made
        if how == fitted and (how == "default" or not names_columns(estimator)):
            return hand_on(made, how, estimator)
        if how == "default":  # a frame was asked for when it was fitted
            return np.asarray(made)
        try:
            names = self.get_feature_names_out()
        except (AttributeError, ValueError):  # those of what was made, as in scikit-learn
            names = None
        return contained(made, how, names, taken.index if frames.is_frame(taken) else None)

    @spec_has("set_output")
    def set_output(self, *, transform: str | None = None) -> Accelerated:
        """Choose what `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            None leaves the choice as it is.
        """
        if transform is not None:
            if transform not in CONTAINERS:
                raise ConfigError(f"transform={transform!r}: choose from {', '.join(CONTAINERS)}")
            borrow(self.estimator).set_output(transform=transform)  # a step may have no such method
            self._sklearn_output_config = {"transform": transform}
            self._check_lifted()
            self.__dict__.pop("_lifted", None)
        return self

    @spec_has("get_feature_names_out")
    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray | None:
        """Return the names of the columns of `transform`; None if the estimator has none."""
        if hasattr(self, "plan_"):
            self._check_unchanged()
        names = self._lifted.get_feature_names_out(input_features)
        return None if names is None else np.asarray(names, dtype=object)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata the steps of the estimator request, for scikit-learn's routing."""
        return router(self)

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the estimator; on a GPU, some take no sparse rows."""
        tags = tags_of(self.estimator)
        tags.requires_fit = needs_fit(self.estimator)
        if self.device == "cuda" and not self._falls_back:
            tags.input_tags.sparse = tags.input_tags.sparse and takes_sparse(self.estimator)
        if tags.transformer_tags is not None:
            kept = tags.transformer_tags.preserves_dtype
            same = [t for t in kept if self.dtype in ("auto", t)]
            tags.transformer_tags.preserves_dtype = same
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` has been called."""
        return hasattr(self, "plan_")


def checkpoints_of(model: Estimator) -> Checkpoints:
    """Return what keeps the trees of a model's training in its folder."""
    return Checkpoints(
        Path(model.checkpoint),
        {
            "parameters": f"{code(model.estimator)}, dtype={model.dtype}",
            "versions": f"XGBoost {load('xgboost.__version__')}",
        },
    )
