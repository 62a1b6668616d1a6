"""cuML estimators, by cuML's own translation of parameters.

cuML refuses a value it cannot honour with a reason, which is passed on; what
it drops in silence is found here by translating with and without the value.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, clone

from pipeline import frames, residency
from pipeline.errors import DataError, Reason, Unsupported
from pipeline.optional import load
from pipeline.rules.model import Model


class Cuml(Model):
    """A cuML estimator in the place of a scikit-learn one.

    Parameters
    ----------
    spec : estimator
        The scikit-learn estimator.
    path : str
        Dotted name of the cuML class.
    step : str
        Path of the step, for messages.

    Raises
    ------
    Unsupported
        cuML has no equivalent of some parameter value.
    """

    def __init__(self, spec: BaseEstimator, path: str, step: str) -> None:
        twin = load(path)
        # Not from_sklearn: that needs a GPU, and sets output_type="numpy",
        # which would copy every result to the host.
        super().__init__(spec, twin(**translate(twin, spec, step)))
        self.step = step

    def fit(self, X: Any, y: Any, **params: Any) -> None:
        """Fit on a CuPy matrix, dense or sparse.

        Raises
        ------
        DataError
            The matrix holds missing values, which cuML does not take.
        """
        X, xp = frames.matrix(X), frames.array_module(frames.device_of(X))
        if bool(xp.isnan(X.data if frames.is_sparse(X) else X).any()):
            raise DataError(
                f"{self.step}: cuML does not take missing values; impute them in a step before"
            )
        residency.moved(to_device=y.nbytes)
        self.text_labels = y.dtype.kind not in "iufb"
        super().fit(X, y, **params)

    def call(self, method: str, X: Any) -> Any:
        """Return ``estimator.method(X)``, on the device."""
        X = frames.matrix(X)
        if method != "predict" or not self.text_labels:
            return super().call(method, X)
        # CuPy has no arrays of text; cuML would raise.
        with load("cuml.using_output_type")("cudf"):
            return super().call(method, X)

    def to_sklearn(self) -> Any:
        """Return cuML's own conversion, with the parameters of the spec."""
        return self.estimator.as_sklearn().set_params(**self.spec.get_params(deep=False))


def translate(twin: Any, spec: BaseEstimator, step: str) -> dict[str, Any]:
    """Return cuML's parameters for a scikit-learn estimator."""
    try:
        params: dict[str, Any] = twin._params_from_cpu(spec)
    except ValueError as error:
        way_out = "change the parameter, or run the step on the CPU with device='auto'"
        raise Unsupported(Reason(step, f"cuML: {error}", way_out)) from error
    return params


def dropped(path: str, spec: BaseEstimator, step: str) -> list[str]:
    """Return the parameters that differ from their default and make no difference to cuML."""
    twin, defaults = load(path), type(spec)().get_params(deep=False)
    whole = translate(twin, spec, step)
    lost = []
    for name, value in spec.get_params(deep=False).items():
        if value != defaults[name]:
            without = clone(spec).set_params(**{name: defaults[name]})
            if translate(twin, without, step) == whole:
                lost.append(f"{name}={value!r}")
    return lost
