"""The one list of types that a model file may contain, and skops files that are checked by it.

skops trusts scikit-learn's public estimators, the types of NumPy and the ufuncs of NumPy and SciPy
by itself. All other types in a file are compared with `TRUSTED` before anything of it is imported
or created. Creating an object of a listed type only stores its state.
"""

from __future__ import annotations

import io
import warnings
from typing import Any, Final
from zipfile import ZIP_STORED, ZipFile

from sklearn.exceptions import InconsistentVersionWarning

from pipeline.backends.gpu_rules import XGBOOST
from pipeline.errors import ConfigError, DataError
from pipeline.optional import load

_NAMES: Final = {
    "builtins": "frozenset object",
    "datetime": "date",
    "numpy": "bool character complexfloating dtype flexible floating generic inexact integer "
    "max mean median min number signedinteger sum unsignedinteger",
    "pipeline.backends.xgboost.saved": "Booster",
    "pipeline.twins.calendar": "CalendarFeatures",
    "scipy._lib.array_api_compat.numpy._aliases": "asarray",
    "scipy.interpolate._bsplines": "BSpline",
    "scipy.sparse._csr": "csr_array csr_matrix",
    "sklearn._loss.loss": "HalfTweedieLossIdentity",
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration",
    "sklearn.cluster._bisect_k_means": "_BisectingTree",
    "sklearn.cluster._kmeans": "_kmeans_single_lloyd",
    "sklearn.compose._column_transformer": "make_column_selector",
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.feature_selection._mutual_info": "mutual_info_classif mutual_info_regression",
    "sklearn.feature_selection._univariate_selection": "chi2 f_classif f_regression",
    "sklearn.gaussian_process._gpc": "_BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels": "CompoundKernel ConstantKernel DotProduct ExpSineSquared "
    "Exponentiation Matern PairwiseKernel Product RBF RationalQuadratic Sum WhiteKernel",
    "sklearn.impute._iterative": "IterativeImputer _ImputerTriplet",
    "sklearn.metrics._classification": "accuracy_score balanced_accuracy_score brier_score_loss "
    "d2_brier_score d2_log_loss_score f1_score fbeta_score jaccard_score log_loss "
    "matthews_corrcoef precision_score recall_score",
    "sklearn.metrics._dist_metrics": "ChebyshevDistance64 EuclideanDistance64 "
    "ManhattanDistance64 MinkowskiDistance64",
    "sklearn.metrics._ranking": "average_precision_score roc_auc_score top_k_accuracy_score",
    "sklearn.metrics._regression": "d2_absolute_error_score explained_variance_score max_error "
    "mean_absolute_error mean_absolute_percentage_error mean_gamma_deviance mean_poisson_deviance "
    "mean_squared_error mean_squared_log_error median_absolute_error r2_score "
    "root_mean_squared_error root_mean_squared_log_error",
    "sklearn.metrics._scorer": "_CurveScorer _PassthroughScorer _Scorer "
    "negative_likelihood_ratio positive_likelihood_ratio",
    "sklearn.model_selection._split": "GroupKFold KFold LeaveOneOut RepeatedKFold "
    "RepeatedStratifiedKFold ShuffleSplit StratifiedGroupKFold StratifiedKFold "
    "StratifiedShuffleSplit TimeSeriesSplit",
    "sklearn.model_selection._search_successive_halving": "HalvingGridSearchCV "
    "HalvingRandomSearchCV",
    "sklearn.multiclass": "_ConstantPredictor",
    "sklearn.neighbors._ball_tree": "BallTree",
    "sklearn.neighbors._kd_tree": "KDTree",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    "sklearn.tree._tree": "Tree",
    "sklearn.utils._bunch": "Bunch",
    "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
    "xgboost.sklearn": " ".join(XGBOOST),
}

_INSTEAD: Final = {
    b"xgboost.core": b"pipeline.backends.xgboost.saved",
    b"pipeline.preprocessing.transformers.calendar": b"pipeline.twins.calendar",
}
"""Module that a file names -> the one of ours that is loaded: it checks a booster, or has moved."""

TRUSTED: Final = sorted(f"{m}.{name}" for m, names in _NAMES.items() for name in names.split())
"""Parameters and fitted attributes of estimators that skops does not trust by itself."""


def dump_skops(value: object) -> bytes:
    """Return estimators, and what is kept beside them, as the bytes of a skops file.

    `ConfigError` says that a type is not on the list: the file could not be loaded again.
    """
    try:
        data: bytes = load("skops.io").dumps(value)
        why = ", ".join(_strangers(data))
    except (TypeError, ValueError) as error:
        why = str(error)
    if why:
        raise ConfigError(
            f"the model cannot be saved without pickle: {why}; model files support estimators of "
            "scikit-learn and XGBoost, numbers, text, and NumPy arrays and ufuncs: change the "
            "step, or save the result of `to_sklearn()` yourself"
        )
    return data


def loads(data: bytes, where: str) -> Any:
    """Return what the bytes of a skops file hold.

    `ConfigError` says that it holds types that are not on the list, `DataError` that it is no such
    file.
    """
    try:
        data = _renamed(data)
        with warnings.catch_warnings():
            # One warning of other versions for the whole model, by the manifest, is enough.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            return load("skops.io").loads(data, trusted=TRUSTED)
    except load("skops.io.exceptions.UntrustedTypesFoundException") as error:
        strangers = _strangers(data)
        raise ConfigError(
            f"{where}: contains types that are not trusted: {strangers}; fit the model again and "
            "save it"
        ) from error
    except Exception as error:  # skops raises whatever a broken file leads it to
        kind = "" if isinstance(error, DataError) else f"{type(error).__name__}: "
        said = f"{kind}{str(error).partition(chr(10))[0][:200]}"
        raise DataError(f"{where}: not a model: {said}; fit the model again and save it") from error


def _renamed(data: bytes) -> bytes:
    """Return a file that names the modules of `_INSTEAD`."""
    with ZipFile(io.BytesIO(data)) as archive:
        # What is stored as it is cannot become larger than the file.
        if any(part.compress_type != ZIP_STORED for part in archive.infolist()):
            raise DataError("its parts are compressed")
        parts = {name: archive.read(name) for name in archive.namelist()}
    named, schema = b'"__module__": "%s"', parts["schema.json"]
    for there, ours in _INSTEAD.items():
        parts["schema.json"] = parts["schema.json"].replace(named % there, named % ours)
    if parts["schema.json"] == schema:
        return data
    changed = io.BytesIO()
    with ZipFile(changed, "w", ZIP_STORED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return changed.getvalue()


def _strangers(data: bytes) -> list[str]:
    unknown = load("skops.io").get_untrusted_types(data=_renamed(data))
    return sorted(set(unknown) - set(TRUSTED))
