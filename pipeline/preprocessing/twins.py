"""The twins there are, by the scikit-learn class they stand for.

They are looked up by exact type: a subclass is another algorithm.
"""

from __future__ import annotations

from typing import Any

from pipeline.preprocessing.binning import KBinsDiscretizerTwin
from pipeline.preprocessing.dates import CalendarFeaturesTwin
from pipeline.preprocessing.functions import FunctionTransformerTwin
from pipeline.preprocessing.imputing import SimpleImputerTwin
from pipeline.preprocessing.missing import MissingIndicatorTwin
from pipeline.preprocessing.one_hot import OneHotEncoderTwin
from pipeline.preprocessing.ordinal import OrdinalEncoderTwin
from pipeline.preprocessing.polynomial import PolynomialFeaturesTwin
from pipeline.preprocessing.power import PowerTransformerTwin
from pipeline.preprocessing.quantile_transform import QuantileTransformerTwin
from pipeline.preprocessing.ranges import MaxAbsScalerTwin, MinMaxScalerTwin
from pipeline.preprocessing.robust import RobustScalerTwin
from pipeline.preprocessing.rows import BinarizerTwin, NormalizerTwin
from pipeline.preprocessing.scaling import StandardScalerTwin
from pipeline.preprocessing.selection import SelectKBestTwin, VarianceThresholdTwin
from pipeline.preprocessing.splines import SplineTransformerTwin
from pipeline.preprocessing.target_encoding import TargetEncoderTwin
from pipeline.preprocessing.twin import Twin

_ALL: tuple[type[Twin[Any]], ...] = (
    BinarizerTwin,
    CalendarFeaturesTwin,
    FunctionTransformerTwin,
    KBinsDiscretizerTwin,
    MaxAbsScalerTwin,
    MinMaxScalerTwin,
    MissingIndicatorTwin,
    NormalizerTwin,
    OneHotEncoderTwin,
    OrdinalEncoderTwin,
    PolynomialFeaturesTwin,
    PowerTransformerTwin,
    QuantileTransformerTwin,
    RobustScalerTwin,
    SelectKBestTwin,
    SimpleImputerTwin,
    SplineTransformerTwin,
    StandardScalerTwin,
    TargetEncoderTwin,
    VarianceThresholdTwin,
)
TWINS: dict[type, type[Twin[Any]]] = {twin.original: twin for twin in _ALL}
"""scikit-learn class -> our twin."""
