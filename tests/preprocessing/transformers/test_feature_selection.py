from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import (
    SelectKBest,
    VarianceThreshold,
    chi2,
    f_classif,
    f_regression,
    r_regression,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline.errors import DataError, Unsupported
from pipeline.preprocessing.engine import table
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.feature_selection import SelectKBestTwin
from tests.names import plain
from tests.preprocessing.parity import (
    assert_both_refuse,
    assert_handed_over,
    assert_parity,
    close,
    sklearn_fit,
)

ROWS = 150
LARGEST = np.finfo("float64").max
_rng = np.random.default_rng(7)
LABELS: dict[str, np.ndarray] = {
    "two labels": _rng.choice(["no", "yes"], ROWS, p=[0.8, 0.2]),
    "booleans": _rng.random(ROWS) < 0.3,
    "three labels": _rng.choice(["x", "y", "z"], ROWS),
    "one rare label": np.r_[["rare"], ["usual"] * (ROWS - 1)],
    "numbers": _rng.integers(3, 7, ROWS),
}
REALS: dict[str, np.ndarray] = {
    "real": _rng.normal(size=ROWS),
    "far from zero": _rng.normal(size=ROWS) * 3 + 1e6,
    "integers": _rng.integers(-5, 9, ROWS),
    "booleans": _rng.random(ROWS) < 0.3,
    "constant": np.full(ROWS, 0.5),
}


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(1, [0.3, 1, 9], (ROWS, 3)), columns=["a", "b", "c"])
    X["constant"] = 0.5
    X["int"] = rng.integers(-4, 9, ROWS)
    X["flag"] = (np.arange(ROWS) % 5 == 0).astype(float)
    return X


def in_blocks(monkeypatch: pytest.MonkeyPatch, n_blocks: int) -> None:
    monkeypatch.setattr(table, "CHUNK_ROWS", -(-ROWS // n_blocks))


K: list[Any] = [1, 2, 3, 6, 9, "all"]


@pytest.mark.parametrize("k", K)
@pytest.mark.parametrize("target", LABELS)
def test_f_classif_equals_sklearn(k: Any, target: str, numbers: pd.DataFrame) -> None:
    estimator = SelectKBest(k=k)
    assert_parity(estimator, numbers, LABELS[target], new=numbers[:7] * 2)


@pytest.mark.parametrize("k", K)
@pytest.mark.parametrize("target", REALS)
def test_f_regression_equals_sklearn(k: Any, target: str, numbers: pd.DataFrame) -> None:
    estimator = SelectKBest(f_regression, k=k)
    assert_parity(estimator, numbers, REALS[target], new=numbers[:7] * 2)


@pytest.mark.parametrize("score", [f_classif, f_regression])
def test_float32_output_and_no_column(score: Any, numbers: pd.DataFrame) -> None:
    y = LABELS["numbers"]
    assert_parity(SelectKBest(score, k=3), numbers, y, dtype="float32")
    assert assert_parity(SelectKBest(score, k=0), numbers, y).width == 0


@pytest.mark.parametrize("score", [f_classif, f_regression])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows(score: Any, rows: int, numbers: pd.DataFrame) -> None:
    X = numbers[["int", "flag", "constant"]][:rows]
    assert_parity(SelectKBest(score, k="all"), X, np.array([0, 1, 0])[:rows], new=X)


def test_one_class_scores_nothing(numbers: pd.DataFrame) -> None:
    X = numbers[["int", "flag"]]
    program = assert_parity(SelectKBest(k=1), X, np.zeros(ROWS))
    assert np.isnan(program.to_sklearn().scores_).all()


def test_column_that_separates_the_classes_is_best() -> None:
    y = np.arange(ROWS) % 3
    X = pd.DataFrame({"noise": REALS["real"], "class": [0.1, 0.7, 0.3] * 50})
    fitted = Program(SelectKBest(k=1), "float64").fit(X, y).to_sklearn()
    assert fitted.scores_[1] == np.inf
    assert fitted.pvalues_[1] == 0.0
    assert fitted.get_feature_names_out().tolist() == ["class"]


@pytest.mark.parametrize("n_blocks", [1, 2, 7, 64])
@pytest.mark.parametrize("value", [0.1, 1e9 / 3, -7e-9, 1e16 / 7])
@pytest.mark.parametrize("score", [f_classif, f_regression])
def test_constant_is_the_worst_whatever_it_is(
    score: Any, value: float, n_blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = pd.DataFrame({"constant": np.full(ROWS, value), "noise": REALS["real"]})
    in_blocks(monkeypatch, n_blocks)
    program = Program(SelectKBest(score, k=1)).fit(X, LABELS["numbers"]).to_sklearn()
    assert program.get_feature_names_out().tolist() == ["noise"]
    constant = np.nan_to_num([program.scores_[0], program.pvalues_[0]]).tolist()
    assert constant == ([0.0, 0.0] if score is f_classif else [0.0, 1.0])


def test_perfect_fit_scores_the_greatest_number() -> None:
    y = np.arange(8.0)
    X = pd.DataFrame({"same": y, "mirrored": -y, "other": y % 3})
    fitted = assert_parity(SelectKBest(f_regression, k=2), X, y).to_sklearn()
    assert fitted.scores_[:2].tolist() == [LARGEST, LARGEST]
    assert fitted.pvalues_[:2].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("score", [f_classif, f_regression])
def test_scores_keep_their_digits_beside_a_large_offset(score: Any, numbers: pd.DataFrame) -> None:
    X = numbers[["a", "b", "int"]] + 1e9
    fitted = Program(SelectKBest(score, k=2)).fit(X, LABELS["numbers"]).to_sklearn()
    scores, pvalues = score(X - 1e9, LABELS["numbers"])
    np.testing.assert_allclose(fitted.scores_, scores, rtol=1e-9)
    np.testing.assert_allclose(fitted.pvalues_, pvalues, rtol=1e-9)


@pytest.mark.parametrize("score", [f_classif, f_regression])
def test_scores_keep_their_digits_beside_an_outlier(score: Any) -> None:
    """The first row is what deviations are taken from; it may lie far off."""
    x = np.r_[1e8, REALS["real"][1:]]
    fitted = Program(SelectKBest(score, k=1)).fit(x[:, None], LABELS["numbers"]).to_sklearn()
    scores, _ = score((x - x.mean())[:, None], LABELS["numbers"])
    np.testing.assert_allclose(fitted.scores_, scores, rtol=1e-9)


@pytest.mark.parametrize("n_blocks", [2, 7, 64])
@pytest.mark.parametrize("score", [f_classif, f_regression])
@pytest.mark.parametrize("offset", [0, 1e6])
def test_scores_do_not_depend_on_the_blocks(
    score: Any,
    n_blocks: int,
    offset: float,
    numbers: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers, y = numbers + offset, LABELS["numbers"]
    whole = Program(SelectKBest(score, k=3)).fit(numbers, y).to_sklearn()
    in_blocks(monkeypatch, n_blocks)
    cut = Program(SelectKBest(score, k=3)).fit(numbers, y).to_sklearn()
    np.testing.assert_allclose(cut.scores_, whole.scores_, rtol=1e-12)
    np.testing.assert_allclose(cut.pvalues_, whole.pvalues_, rtol=1e-12)


@pytest.mark.parametrize("score", [f_classif, f_regression])
def test_classes_in_blocks_of_their_own(score: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CHUNK_ROWS", 30)
    y = np.arange(ROWS) // 30
    X = pd.DataFrame({"a": REALS["real"], "b": REALS["real"] + y})
    assert_parity(SelectKBest(score, k=1), X, y)


@pytest.mark.parametrize("score", [f_classif, f_regression])
def test_of_equal_columns_the_last_is_kept(score: Any, numbers: pd.DataFrame) -> None:
    X = pd.concat([numbers[["int", "flag"]]] * 3, axis=1).set_axis(list("uvwxyz"), axis=1)
    y = LABELS["numbers"]
    best = "uwy" if score(X, y)[0][0] > score(X, y)[0][1] else "vxz"
    for k in (1, 2, 3):
        fitted = Program(SelectKBest(score, k=k)).fit(X, y).to_sklearn()
        assert fitted.get_feature_names_out().tolist() == list(best[-k:])


def test_ties_of_classes_go_where_sklearn_puts_them(numbers: pd.DataFrame) -> None:
    """In f_regression, scikit-learn's own scores of equal columns differ by rounding."""
    X = pd.concat([numbers[["int", "flag"]]] * 3, axis=1).set_axis(list("uvwxyz"), axis=1)
    for k in (1, 2, 4, 5):
        assert_parity(SelectKBest(k=k), X, LABELS["numbers"])


@pytest.mark.parametrize("score", [f_classif, f_regression])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool"])
def test_small_types_are_scored_in_float64(score: Any, dtype: str, numbers: pd.DataFrame) -> None:
    X, y = numbers[["b", "c", "int"]].to_numpy().clip(0).astype(dtype), LABELS["numbers"]
    program = Program(SelectKBest(score, k=2), "float64")
    ours = program.fit_transform(X, y)
    reference, expected = sklearn_fit(SelectKBest(score, k=2), X.astype("float64"), y)
    close(ours, expected)
    assert_handed_over(program.to_sklearn(), reference, X)


@pytest.mark.parametrize(
    "y",
    [list("ab") * 75, pd.Series(list("ab") * 75, dtype="category"), pd.Series(LABELS["numbers"])],
    ids=["list", "category", "series"],
)
def test_kinds_of_targets(y: Any, numbers: pd.DataFrame) -> None:
    assert_parity(SelectKBest(k=2), numbers, y)


def test_target_is_needed(numbers: pd.DataFrame) -> None:
    assert assert_both_refuse(SelectKBest(), numbers) == (
        "SelectKBest needs the target: pass y to fit"
    )


def test_words_are_no_target_for_a_regression(numbers: pd.DataFrame) -> None:
    message = assert_both_refuse(SelectKBest(f_regression), numbers, LABELS["two labels"])
    assert "f_regression needs a target of numbers" in message


@pytest.mark.parametrize(
    "y",
    [np.r_[np.nan, REALS["real"][1:]], np.r_[np.inf, REALS["real"][1:]], np.zeros((ROWS, 2))],
    ids=["missing", "infinite", "two columns"],
)
@pytest.mark.parametrize("score", [f_classif, f_regression])
def test_targets_that_sklearn_refuses(score: Any, y: np.ndarray, numbers: pd.DataFrame) -> None:
    message = assert_both_refuse(SelectKBest(score), numbers, y)
    assert message.startswith("SelectKBest on the columns ['a', ")


@pytest.mark.parametrize("score", [f_classif, f_regression])
def test_missing_values_are_refused_like_in_sklearn(score: Any, numbers: pd.DataFrame) -> None:
    estimator, y = SelectKBest(score, k=1), LABELS["numbers"]
    program = Program(estimator).fit(numbers, y)
    numbers.loc[140, "constant"] = np.nan
    assert assert_both_refuse(estimator, numbers, y) == (
        "SelectKBest: column 'constant' holds missing values (NaN), which it does not take; "
        "impute them before this step (SimpleImputer)"
    )
    with pytest.raises(DataError, match="column 'constant' holds missing values"):
        program.transform(numbers)


def test_infinity_is_refused_like_in_sklearn(numbers: pd.DataFrame) -> None:
    numbers.loc[3, "b"] = np.inf
    message = assert_both_refuse(SelectKBest(), numbers, LABELS["two labels"])
    assert "column 'b' holds infinite values" in message


@pytest.mark.parametrize("k", [-1, "some", 1.5, None])
def test_bad_k_is_refused(k: Any, numbers: pd.DataFrame) -> None:
    message = assert_both_refuse(SelectKBest(k=k), numbers, LABELS["numbers"])
    assert "'k' parameter" in message


@pytest.mark.parametrize("score", [chi2, r_regression, lambda X, y: X[0], None], ids=plain)
def test_other_scores_are_refused(score: Any) -> None:
    with pytest.raises(Unsupported) as caught:
        Program(SelectKBest(score)).fit(np.ones((4, 1)), np.array([0, 1, 0, 1]))
    (reason,) = caught.value.reasons
    assert reason.parameter == "score_func"


@pytest.mark.parametrize("score", [f_classif, f_regression])
def test_inside_a_pipeline(score: Any, numbers: pd.DataFrame) -> None:
    numbers.loc[::3, "a"] = np.nan
    estimator = make_pipeline(
        SimpleImputer(), VarianceThreshold(), SelectKBest(score, k=2), StandardScaler()
    )
    assert_parity(estimator, numbers, LABELS["numbers"])


def test_labels_that_are_numbers_are_not_sorted(
    numbers: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = np.arange(len(numbers)) % 3

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("all rows are sorted")

    twin = SelectKBestTwin(SelectKBest(f_classif))
    with monkeypatch.context() as patch:
        patch.setattr(np, "unique", refuse)
        (codes,) = twin.aligned(y)
    np.testing.assert_array_equal(codes, y)


def test_labels_of_text_and_numbers_are_refused(numbers: pd.DataFrame) -> None:
    y = np.array(["a", 1] * len(numbers), dtype=object)[: len(numbers)]
    assert_both_refuse(SelectKBest(), numbers, y)
