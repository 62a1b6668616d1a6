"""Boosters are what XGBoost writes, or are refused before XGBoost reads them."""

from __future__ import annotations

import contextlib
import resource
import struct
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

from pipeline.backends.xgboost.structure import _Reader, check_booster, model_of
from pipeline.errors import DataError
from tests.commands import python

_rng = np.random.default_rng(0)
# By XGBoost 3.4.
pytestmark = pytest.mark.filterwarnings("ignore:.*booster=gblinear:UserWarning")

X = pd.DataFrame(_rng.normal(size=(80, 3)), columns=list("abc"))
TOWNS = X.assign(
    town=pd.Categorical(_rng.choice(["Rome", "Oslo", "Bern"], 80)),
    code=pd.Categorical(_rng.choice([5, 7, 9, 12], 80)),
)
CODES = X.assign(code=_rng.integers(0, 9, 80).astype("f4"))
Y = _rng.integers(0, 3, 80)
SMALL = {"n_estimators": 3, "max_depth": 3, "n_jobs": 1}
BOOSTERS: dict[str, tuple[Any, pd.DataFrame, Any]] = {
    "classes": (xgb.XGBClassifier(**SMALL), X, Y),
    "numbers": (xgb.XGBRegressor(**SMALL), X, Y),
    "forest": (xgb.XGBRFClassifier(**SMALL), X, Y),
    "dart": (xgb.XGBRegressor(booster="dart", **SMALL), X, Y),
    "linear": (xgb.XGBClassifier(booster="gblinear", n_estimators=3, n_jobs=1), X, Y),
    "pruned": (xgb.XGBRegressor(tree_method="exact", gamma=5.0, **SMALL), X, X["a"]),
    "categories": (
        xgb.XGBClassifier(enable_categorical=True, max_cat_to_onehot=1, **SMALL),
        TOWNS,
        Y,
    ),
    "codes": (
        xgb.XGBRegressor(feature_types=["q", "q", "q", "c"], max_cat_to_onehot=1, **SMALL),
        CODES,
        CODES["code"] % 3,
    ),
    "several targets": (
        xgb.XGBRegressor(multi_strategy="multi_output_tree", **SMALL),
        X,
        X[["a", "b"]],
    ),
    "quantiles": (
        xgb.XGBRegressor(objective="reg:quantileerror", quantile_alpha=[0.1, 0.5], **SMALL),
        X,
        Y,
    ),
    "without trees": (xgb.XGBRFClassifier(n_estimators=5, num_boost_round=0, n_jobs=1), X, Y > 1),
    "one leaf": (xgb.XGBRegressor(**SMALL), X, np.zeros(80)),
    "counts": (xgb.XGBRegressor(objective="count:poisson", **SMALL), X, Y),
    "survival": (xgb.XGBRegressor(objective="survival:cox", **SMALL), X, Y + 1),
    "loss by hand": (xgb.XGBRegressor(objective=lambda y, p: (p - y, np.ones(80)), **SMALL), X, Y),
    "deep": (
        xgb.XGBRegressor(grow_policy="lossguide", max_leaves=60, **SMALL | {"max_depth": 0}),
        X,
        Y,
    ),
}


@cache
def booster(name: str) -> xgb.Booster:
    estimator, table, y = BOOSTERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(table, y).get_booster()


def written(name: str) -> bytes:
    return bytes(booster(name).save_raw("ubj"))


@pytest.mark.parametrize("name", BOOSTERS)
def test_what_xgboost_writes_is_read(name: str) -> None:
    check_booster(written(name))
    model = model_of(bytes(booster(name).__getstate__()["handle"]))
    read = xgb.Booster(model_file=bytearray(model))
    assert bytes(read.save_raw("ubj")) == written(name)
    assert encode(_Reader(written(name)).whole()) == written(name), "and written as XGBoost does"


def encode(value: Any) -> bytes:
    """Return UBJSON as XGBoost writes it."""
    if isinstance(value, dict):
        pairs = (_text(name) + encode(each) for name, each in value.items())
        return b"{" + b"".join(pairs) + b"}"
    if isinstance(value, np.ndarray):
        mark = {"i1": b"i", "u1": b"U", "i4": b"l", "i8": b"L", "f4": b"d"}[value.dtype.str[1:]]
        raw = value.astype(value.dtype.newbyteorder(">")).tobytes()
        return b"[$" + mark + b"#" + _length(len(value)) + raw
    if isinstance(value, list):
        return b"[#" + _length(len(value)) + b"".join(map(encode, value))
    if isinstance(value, str):
        return b"S" + _text(value)
    if isinstance(value, bool):
        return b"T" if value else b"F"
    if isinstance(value, float):
        return b"d" + struct.pack(">f", value)
    for mark, form in ((b"i", ">b"), (b"I", ">h"), (b"l", ">i")):
        with contextlib.suppress(struct.error):
            return mark + struct.pack(form, value)
    return b"L" + struct.pack(">q", value)


def _length(size: int) -> bytes:
    return b"L" + struct.pack(">q", size)


def _text(text: str) -> bytes:
    return _length(len(text.encode())) + text.encode()


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where the numbers, texts and arrays lie."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for name, each in pairs:
        if isinstance(each, dict | list) and len(each):
            yield from leaves(each, (*path, name))
        else:
            yield (*path, name)


EXTREMES = [0, 1, -1, 2, 3, 7, 99, 2**24, 2**31 - 1, -(2**31)]


def changed(content: bytes, draw: np.random.Generator) -> bytes:
    """Return a booster in which one value is another, or some bytes."""
    if draw.random() < 0.4:
        data = bytearray(content)
        for _ in range(draw.integers(1, 4)):
            at, size = draw.integers(0, len(data)), draw.integers(1, 50)
            how = draw.integers(0, 4)
            if how == 0:
                data[at] ^= 1 << draw.integers(0, 8)
            elif how == 1:
                del data[at : at + size]
            elif how == 2:
                data[at:at] = data[at : at + size]
            else:
                data[at] = draw.choice([*b'09-"{}[],:L$#\x00\xff'])
        return bytes(data)
    model = _Reader(content).whole()
    paths = [*leaves(model)]
    *path, last = paths[draw.integers(0, len(paths))]
    held = model
    for name in path:
        held = held[name]
    held[last] = _another(held[last], draw)
    return encode(model)


def _another(value: Any, draw: np.random.Generator) -> Any:
    extreme = int(draw.choice(EXTREMES))
    if isinstance(value, str):
        return str(extreme)
    if isinstance(value, list):
        return [extreme]
    if not isinstance(value, np.ndarray):
        return extreme
    if not len(value) or draw.random() < 0.2:
        return np.append(value, np.array([extreme]).astype(value.dtype))
    value = value.copy()
    value[draw.integers(0, len(value))] = np.array(extreme).astype(value.dtype)
    return value[1:] if draw.random() < 0.2 else value


def used(content: bytes, name: str) -> bool:
    """Load a booster and use it, if it is not refused; return whether it was not."""
    estimator, table, _ = BOOSTERS[name]
    try:
        check_booster(content)
        made = xgb.Booster(model_file=bytearray(content))
        rows = xgb.DMatrix(
            table, enable_categorical=True, feature_types=estimator.feature_types, nthread=1
        )
        made.set_param({"nthread": 1})
        made.predict(rows)
        made.predict(rows, pred_contribs=True)
        made.save_raw("ubj")
        made.get_dump()
    except (DataError, xgb.core.XGBoostError, ValueError):
        return False
    return True


def count_used(number: int, seed: int) -> int:
    draw, names = np.random.default_rng(seed), [*BOOSTERS]
    chosen = [names[i % len(names)] for i in range(number)]
    return sum(used(changed(written(name), draw), name) for name in chosen)


def test_a_changed_booster_is_refused_or_harmless() -> None:
    assert 0 < count_used(48, seed=1) < 40


@pytest.mark.slow
def test_no_changed_booster_ends_the_process_or_takes_its_memory() -> None:
    done = python("-m", "tests.backends.xgboost.test_structure", 1400, 2)
    assert done.code == 0, done.err[-2000:]
    assert 0 < int(done.out) < 700


NOT_READ = {
    "nothing": b"",
    "JSON": b'{"learner":{}}',
    "a length beyond the end": b"{" + _text("learner") + b"S" + _length(2**40),
    "a length below zero": b"{" + _text("learner") + b"[$d#" + _length(-1),
    "nested": b"{" + (_text("a") + b"{") * 10_000,
}


@pytest.mark.parametrize("name", NOT_READ)
def test_what_is_no_booster_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="not a booster of XGBoost that this version can read"):
        check_booster(NOT_READ[name])


def test_nodes_in_a_circle_are_refused() -> None:
    model = _Reader(written("numbers")).whole()
    tree = model["learner"]["gradient_booster"]["model"]["trees"][0]
    left, right = tree["left_children"].copy(), tree["right_children"].copy()
    left[1] = 0
    tree |= {"left_children": left, "right_children": right}
    with pytest.raises(DataError, match="children"):
        check_booster(encode(model))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
    xgb.set_config(verbosity=0)
    sys.stdout.write(str(count_used(int(sys.argv[1]), int(sys.argv[2]))))
