"""The twins, by the scikit-learn class that they replace.

They are looked up by exact type: a subclass is another algorithm.
"""

from __future__ import annotations

from typing import Any

from sklearn.feature_selection import (
    SelectFdr,
    SelectFpr,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
)

from pipeline.twins.calendar import CalendarFeaturesTwin
from pipeline.twins.encoders import OneHotEncoderTwin, OrdinalEncoderTwin
from pipeline.twins.feature_selection import UnivariateTwin, VarianceThresholdTwin
from pipeline.twins.function import FunctionTransformerTwin
from pipeline.twins.imputers import SimpleImputerTwin
from pipeline.twins.polynomial import PolynomialFeaturesTwin
from pipeline.twins.power import PowerTransformerTwin
from pipeline.twins.quantile import (
    KBinsDiscretizerTwin,
    QuantileTransformerTwin,
)
from pipeline.twins.scalers import (
    MaxAbsScalerTwin,
    MinMaxScalerTwin,
    NormalizerTwin,
    RobustScalerTwin,
    StandardScalerTwin,
)
from pipeline.twins.target_encoder import TargetEncoderTwin
from pipeline.twins.twin import Twin

_ALL: tuple[type[Twin[Any]], ...] = (
    CalendarFeaturesTwin,
    FunctionTransformerTwin,
    KBinsDiscretizerTwin,
    MaxAbsScalerTwin,
    MinMaxScalerTwin,
    NormalizerTwin,
    OneHotEncoderTwin,
    OrdinalEncoderTwin,
    PolynomialFeaturesTwin,
    PowerTransformerTwin,
    QuantileTransformerTwin,
    RobustScalerTwin,
    SimpleImputerTwin,
    StandardScalerTwin,
    TargetEncoderTwin,
    VarianceThresholdTwin,
)
_UNIVARIATE = (SelectFdr, SelectFpr, SelectFwe, SelectKBest, SelectPercentile)
TWINS: dict[type, type[Twin[Any]]] = {
    **{twin.sklearn_class: twin for twin in _ALL},
    **dict.fromkeys(_UNIVARIATE, UnivariateTwin),
}
"""scikit-learn class -> our twin."""
