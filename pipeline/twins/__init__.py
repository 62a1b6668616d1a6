"""The twins; each module adds its own to `TWINS`."""

from pipeline.twins import (  # noqa: F401
    calendar,
    encoders,
    feature_selection,
    function,
    imputers,
    polynomial,
    power,
    quantile,
    scalers,
    target_encoder,
)
from pipeline.twins.twin import TWINS as TWINS
