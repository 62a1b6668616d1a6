"""Every variant does the same thing; only then is it fair to compare their times."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from pipeline.errors import ConfigError
from tools.bench import cases, verdicts
from tools.bench.variants import HIDDEN, TRUTH, VARIANTS, read_object, read_text
from tools.bench.work import apart

NEEDS = {"polars": "polars", "skrub": "skrub"}


def present(variant: str):
    missing = variant in NEEDS and find_spec(NEEDS[variant]) is None
    return pytest.param(variant, marks=pytest.mark.skipif(missing, reason="needs `make bench`"))


def results(case, variant) -> list[np.ndarray]:
    found = (VARIANTS | HIDDEN)[variant]
    X, y = found.read(case)
    program = found.make(case)
    return [np.asarray(program.fit_transform(X, y)), np.asarray(program.transform(X))]


@pytest.fixture(scope="module")
def home(tmp_path_factory, small_home):
    """Return a folder with some of the flights."""
    home = tmp_path_factory.mktemp("bench")
    (home / "flights").symlink_to(small_home / "flights")
    return home


@pytest.fixture(scope="module", params=["synthetic", "flights"])
def case(request, home) -> cases.Case:
    return cases.load(request.param, home, 3_000, 0)


@pytest.fixture(scope="module")
def y_true(case) -> list[np.ndarray]:
    return results(case, TRUTH)


@pytest.mark.parametrize("variant", [present(name) for name in VARIANTS])
def test_a_variant_gives_the_numbers_of_scikit_learn(case, y_true, variant) -> None:
    for found, wanted in zip(results(case, variant), y_true, strict=True):
        assert found.shape == wanted.shape
        assert apart(found, wanted) <= verdicts.SAME_NUMBERS


def test_a_variant_without_cross_fitting_would_be_found(case, y_true) -> None:
    X, y = read_text(case)
    program = case.pipeline()
    assert apart(program.fit(X, y).transform(X), y_true[0]) > verdicts.SAME_NUMBERS


@pytest.mark.parametrize(
    ("variant", "kind"),
    [("sklearn-str", "str"), ("sklearn-object", "object"), ("sklearn-category", "category")],
)
def test_a_variant_gets_the_columns_that_it_is_named_for(home, variant, kind) -> None:
    X, _ = VARIANTS[variant].read(cases.load("synthetic", home, 100, 0))
    assert {str(X[name].dtype) for name in X if not name.startswith("number")} == {kind}


def test_ours_gets_what_scikit_learn_gets() -> None:
    assert VARIANTS["ours-str"].read is VARIANTS["sklearn-str"].read
    assert VARIANTS["ours"].read is VARIANTS["sklearn-category"].read


@pytest.mark.skipif(find_spec("polars") is None, reason="needs `make bench`")
def test_polars_by_hand_knows_missing_and_unseen_categories(home) -> None:
    import polars as pl

    from tools.bench.by_hand import ByHand

    case = replace(
        cases.load("synthetic", home, 100, 0), numbers=["number"], few=["few"], many=["many"]
    )
    seen = {
        "number": [1.0, None, 3.0, 8.0] * 10,
        "few": ["b", None, "a", "b"] * 10,
        "many": ["x", "y", None, "y"] * 10,
    }
    new = {"number": [None, 2.0], "few": [None, "c"], "many": ["z", None]}
    y = np.array([0, 1, 1, 0, 1, 0, 0, 1] * 5)
    pipeline, hand = case.pipeline(), ByHand(case)
    parts = [
        (name, part, [column])
        for (name, part, _), column in zip(
            pipeline.transformers, ["number", "few", "many"], strict=True
        )
    ]
    pipeline.set_params(transformers=parts)
    assert hand.fit_transform(pl.DataFrame(seen), y) == pytest.approx(
        pipeline.fit_transform(pd.DataFrame(seen), y), abs=1e-6
    )
    assert hand.transform(pl.DataFrame(new)) == pytest.approx(
        pipeline.transform(pd.DataFrame(new)), abs=1e-6
    )


def test_files_are_made_once(home) -> None:
    first = cases.load("synthetic", home, 100, 0)
    made = first.text.stat().st_mtime_ns
    assert cases.load("synthetic", home, 100, 0).text.stat().st_mtime_ns == made
    assert cases.load("synthetic", home, 101, 0).text != first.text
    assert not list((home / cases.CACHE).glob("*.draft"))


def test_objects_hold_the_texts_of_the_file(home) -> None:
    case = cases.load("synthetic", home, 100, 0)
    X, _ = read_object(case)
    assert X["few_3"].tolist() == pd.read_parquet(case.coded)["few_3"].tolist()


def test_an_unknown_case_is_named(home) -> None:
    with pytest.raises(ConfigError, match="unknown case 'taxi'"):
        cases.load("taxi", home, 1, 0)
