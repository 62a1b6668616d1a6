"""When a candidate is stopped: as soon as it is unlikely to become the best one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.errors import ConfigError
from pipeline.optional import load

if TYPE_CHECKING:
    from optuna.pruners import BasePruner


def pruner_of(prune: bool | BasePruner) -> BasePruner:
    """Return the pruner that the parameter `prune` of `Search` stands for.

    Raises
    ------
    ConfigError
        It is neither a boolean nor a pruner of Optuna.
    """
    if isinstance(prune, load("optuna.pruners.BasePruner")):
        return prune
    if not isinstance(prune, bool):
        raise ConfigError(f"prune={prune!r} is neither a boolean nor a pruner of Optuna")
    return load("optuna.pruners.NopPruner")()
