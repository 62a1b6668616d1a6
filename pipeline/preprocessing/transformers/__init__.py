"""The twins there are, by the scikit-learn class they stand for.

They are looked up by exact type: a subclass is another algorithm.
"""

from __future__ import annotations

from typing import Any

from pipeline.preprocessing.engine.twin import Twin
from pipeline.preprocessing.transformers.calendar import CalendarFeaturesTwin
from pipeline.preprocessing.transformers.encoders import OneHotEncoderTwin, OrdinalEncoderTwin
from pipeline.preprocessing.transformers.feature_selection import (
    SelectFdrTwin,
    SelectFprTwin,
    SelectFweTwin,
    SelectKBestTwin,
    SelectPercentileTwin,
    VarianceThresholdTwin,
)
from pipeline.preprocessing.transformers.function import FunctionTransformerTwin
from pipeline.preprocessing.transformers.imputers import SimpleImputerTwin
from pipeline.preprocessing.transformers.polynomial import PolynomialFeaturesTwin
from pipeline.preprocessing.transformers.power import PowerTransformerTwin
from pipeline.preprocessing.transformers.quantile import (
    KBinsDiscretizerTwin,
    QuantileTransformerTwin,
)
from pipeline.preprocessing.transformers.scalers import (
    MaxAbsScalerTwin,
    MinMaxScalerTwin,
    NormalizerTwin,
    RobustScalerTwin,
    StandardScalerTwin,
)
from pipeline.preprocessing.transformers.target_encoder import TargetEncoderTwin

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
    SelectFdrTwin,
    SelectFprTwin,
    SelectFweTwin,
    SelectKBestTwin,
    SelectPercentileTwin,
    SimpleImputerTwin,
    StandardScalerTwin,
    TargetEncoderTwin,
    VarianceThresholdTwin,
)
TWINS: dict[type, type[Twin[Any]]] = {twin.sklearn_class: twin for twin in _ALL}
"""scikit-learn class -> our twin."""
