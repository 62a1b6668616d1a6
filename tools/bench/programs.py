"""Programs as people write them, here and in plain scikit-learn: their time and scores."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDClassifier,
)
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier

from pipeline import Accelerated, accel
from pipeline.benchmark.judge.statistics import Ratio
from pipeline.task.numerals import MISSING
from tools.bench import record, report
from tools.bench.record import Results, Run, Values, Variant
from tools.bench.runner import Ask, Claim, Turn

GAPS, WHOLE = [f"gaps_{i}" for i in range(5)], [f"whole_{i}" for i in range(5)]
NUMBERS = GAPS + WHOLE
"""Numbers, the first of which have missing values."""
FEW, SOME = [f"few_{i}" for i in range(3)], ["some_0", "some_1"]
FLIGHTS = ["carrier", "origin", "dest", "tailnum"]
LEVELS = {
    **dict.fromkeys(FEW, 5), **dict.fromkeys(SOME, 50), "many": 5_000, "most": 50_000,
    "carrier": 16, "origin": 3, "dest": 105, "tailnum": 4_043,
}  # fmt: skip
"""Column of texts -> how many different ones; those of flights are as many as in 2013."""
LABEL, AMOUNT, COUNT = "label", "amount", "count"
WORDS, VOCABULARY = 8, 20_000
"""Words in a text, and words that there are."""
THREADED = (
    "polynomial-ridge", "pca", "onehot5-kmeans", "onehot5000-svd", "onehot50000-ridge",
    "tfidf-logistic", "flights-logistic",
)  # fmt: skip
"""With linear algebra: the threads of NumPy and SciPy may wait for each other."""
MIDDLE = 100_000
"""The rows of programs with one BLAS thread, and the most of those under accel."""
HELD_OUT = 4
"""There is one row to predict for so many rows to learn from."""
PLAIN, OURS, ACCEL, ONE = "plain", "ours", "accel", "plain, one BLAS thread"
SHORT, MOST_CALLS = 0.1, 50
"""A run calls again until so many seconds are over, but not more often than that."""
FASTER, SLOWER = 1 / 0.6, 1.05
"""Targets: median speed, and the upper end of the interval of time."""
FASTER_SCRIPT, SLOWER_SCRIPT = 1 / 0.9, 1.1
"""Targets for unchanged scripts: median speed, and the time of each."""
SAME_SCORE = 0.001
"""Largest difference of two scores that counts as equal, relative to a score beyond 1."""


class Program(NamedTuple):
    """An estimator, the columns that it is given, and its target: empty where it needs none.

    A single name stands for a series.
    """

    estimator: BaseEstimator
    columns: list[str] | str
    target: str = LABEL


ONE_HOT = OneHotEncoder(handle_unknown="ignore")
FILLED = make_pipeline(SimpleImputer(), StandardScaler())
DENSE = OneHotEncoder(drop="first", sparse_output=False)
ORDINAL = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
TARGET = TargetEncoder(cv=StratifiedKFold(shuffle=True, random_state=0))
FOREST = RandomForestClassifier(n_estimators=50, max_depth=10, n_jobs=-1, random_state=0)
BOOSTING = HistGradientBoostingClassifier(random_state=0)
SGD, SVC = SGDClassifier(random_state=0), LinearSVC(random_state=0)
XGB = XGBClassifier(random_state=0)


def _numbers(*steps: BaseEstimator, target: str = LABEL) -> Program:
    return Program(make_pipeline(*steps), NUMBERS, target)


def _one_hot(names: list[str], *after: BaseEstimator, target: str = LABEL) -> Program:
    columns = make_column_transformer((FILLED, NUMBERS), (ONE_HOT, names))
    return Program(make_pipeline(columns, *after), [*NUMBERS, *names], target)


def _encoded(
    encoder: BaseEstimator, names: list[str], model: BaseEstimator, numbers: Any = "passthrough",
    target: str = LABEL,
) -> Program:  # fmt: skip
    columns = make_column_transformer((numbers, NUMBERS), (encoder, names))
    return Program(make_pipeline(columns, model), [*NUMBERS, *names], target)


def _text(vectorizer: BaseEstimator, names: list[str], model: BaseEstimator) -> Program:
    columns = make_column_transformer((vectorizer, "text"), (FILLED, NUMBERS), (ONE_HOT, names))
    return Program(make_pipeline(columns, model), ["text", *NUMBERS, *names])


PROGRAMS: dict[str, Program] = {
    "scale": Program(StandardScaler(), WHOLE, ""),
    "impute": Program(SimpleImputer(), GAPS, ""),
    "onehot": Program(OneHotEncoder(), [*FEW, *SOME], ""),
    "ordinal": Program(OrdinalEncoder(), [*FEW, *SOME], ""),
    "target": Program(TARGET, [*SOME, "many"]),
    "polynomial-ridge": _numbers(FILLED, PolynomialFeatures(), Ridge(), target=AMOUNT),
    "pca": _numbers(FILLED, PCA(), target=""),
    "robust-knn": _numbers(SimpleImputer(), RobustScaler(), KNeighborsClassifier()),
    "onehot5-forest": _one_hot(FEW, FOREST),
    "onehot5-kmeans": _one_hot(FEW, KMeans(random_state=0), target=""),
    "onehot50-svc": _one_hot(SOME, SVC),
    "onehot5000-svd": _one_hot(["many"], TruncatedSVD(20, random_state=0), target=""),
    "onehot5000-xgboost": _one_hot(["many"], XGB),
    "onehot50000-ridge": _one_hot(["most"], Ridge(), target=AMOUNT),
    "ordinal-boosting": _encoded(ORDINAL, [*FEW, *SOME], BOOSTING),
    "target-xgboost": _encoded(TARGET, [*SOME, "many"], XGB),
    "tfidf-logistic": _text(TfidfVectorizer(), FEW, LogisticRegression()),
    "flights-logistic": Program(make_pipeline(ONE_HOT, LogisticRegression()), FLIGHTS),
    "logistic": _numbers(FILLED, LogisticRegression()),
    "minmax-bayes": _numbers(SimpleImputer(), MinMaxScaler(), GaussianNB()),
    "power-elasticnet": _numbers(SimpleImputer(), PowerTransformer(), ElasticNet(), target=AMOUNT),
    "quantile-sgd": _numbers(SimpleImputer(), QuantileTransformer(random_state=0), SGD),
    "spline-ridge": _numbers(SimpleImputer(), SplineTransformer(), Ridge(), target=AMOUNT),
    "bins-logistic": _numbers(SimpleImputer(), KBinsDiscretizer(), LogisticRegression()),
    "union-logistic": _numbers(FILLED, make_union(PCA(3), SelectKBest(k=5)), LogisticRegression()),
    "gaps-xgboost": _numbers(XGB),
    "onehot50-linear": _encoded(DENSE, SOME, LinearRegression(), FILLED, AMOUNT),
    "onehot50-poisson": _one_hot(SOME, PoissonRegressor(), target=COUNT),
    "counts-bayes": Program(make_pipeline(CountVectorizer(), MultinomialNB()), "text"),
    "hashing-sgd": _text(HashingVectorizer(), FEW, SGD),
}
"""Parameters are the defaults, save numbers of components, columns and trees, a first level that is
dropped, and what makes runs repeatable and lets unseen values pass."""


def write(path: Path, rows: int, seed: int) -> None:
    """Write a table of all columns as Parquet."""
    random = np.random.default_rng([seed, rows])
    amount, columns = random.normal(size=rows), {}
    for i, name in enumerate(NUMBERS):
        drawn = random.normal(size=rows)
        amount += drawn * (i % 3 == 0)
        absent = random.random(rows) < 0.05 if name in GAPS else None
        columns[name] = pa.array(10.0 * i + (1 + i) * drawn, mask=absent)
    for name, levels in LEVELS.items():
        codes = _codes(levels, rows, random)
        amount += random.normal(0, 0.5, levels)[codes]
        names = pa.array([f"{name}-{i:05d}" for i in range(levels)])
        columns[name] = names.take(pa.array(codes))
    words = _codes(VOCABULARY, rows * WORDS, random)
    amount += random.normal(0, 0.5, VOCABULARY)[words].reshape(rows, WORDS).sum(axis=1)
    texts = pa.array([f"word{i}" for i in range(VOCABULARY)]).take(pa.array(words))
    starts = pa.array(np.arange(0, len(words) + 1, WORDS, dtype="int32"))
    columns["text"] = pc.binary_join(pa.ListArray.from_arrays(starts, texts), " ")
    columns |= {LABEL: pa.array((amount > amount.mean()).astype("int64")), AMOUNT: pa.array(amount)}
    columns[COUNT] = pa.array(random.poisson(np.exp(0.5 * amount / amount.std())))
    pq.write_table(pa.table(columns), path)


def _codes(levels: int, rows: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw by Zipf's law, flatter for few levels, so that a thousand rows have them all."""
    share = np.cumsum(np.arange(1, levels + 1) ** -(0.5 if levels <= 50 else 1.0))
    drawn = np.searchsorted(share / share[-1], random.random(rows))
    # The common values are not the first in the alphabet.
    return np.asarray(random.permutation(levels)[np.minimum(drawn, levels - 1)])


def start(ask: Ask, case: record.Case, variant: str) -> Turn:
    """Read the rows. A turn fits and predicts for those held out; more than once if it is short."""
    program, rows = PROGRAMS[case.title], int(case.facts["rows"])
    warnings.simplefilter("ignore")  # of convergence, with all variants alike
    if variant == ONE:
        threadpool_limits(1, user_api="blas")
    names = [*np.atleast_1d(program.columns), *filter(None, [program.target])]
    frame = pd.read_parquet(ask.home / f"{rows}.parquet", columns=names)
    parts = frame.iloc[:rows], frame.iloc[rows:]
    learnt, new = (
        (part[program.columns].reset_index(drop=True), part.get(program.target)) for part in parts
    )

    def turn() -> tuple[Run, Values]:
        if variant == ACCEL:
            accel.install(device="cpu")
        try:
            return measured()
        finally:
            accel.uninstall()

    def measured() -> tuple[Run, Values]:
        begun, score = time.perf_counter(), 0.0
        calls: list[tuple[float, float]] = []
        while not calls or (time.perf_counter() - begun < SHORT and len(calls) < MOST_CALLS):
            model = clone(program.estimator)
            model = Accelerated(model, device="cpu") if variant == OURS else model
            gc.collect()
            found, taken = _call(model, learnt, new[0])
            score = score if calls else _score(model, found, new)
            calls.append(taken)
            del model, found
        fit, predict = np.median(calls, axis=0).tolist()
        return Run(seconds={"fit": fit, "predict": predict}, calls=len(calls)), {"score": score}

    return turn


def _call(model: Any, learnt: Any, new: pd.DataFrame) -> tuple[Any, tuple[float, float]]:
    """Return predictions or transformed rows, and the seconds of both calls."""
    predicts = hasattr(model, "predict")
    begun = time.perf_counter()
    (model.fit if predicts else model.fit_transform)(*learnt)
    middle = time.perf_counter()
    found = (model.predict if predicts else model.transform)(new)
    return found, (middle - begun, time.perf_counter() - middle)


def _score(model: Any, found: Any, new: tuple[Any, Any]) -> float:
    """Return the accuracy or R²; without a target, a figure that both sides should share."""
    X, y = new
    if not hasattr(model, "predict"):
        return float(abs(found).mean())
    if y is None:
        return float(model.score(X)) / len(X)
    return float((accuracy_score if y.name == LABEL else r2_score)(y, found))


def _cases(ask: Ask) -> Iterator[record.Case]:
    sizes = sorted(ask.settings["rows"])
    for rows in sizes:
        write(ask.home / f"{rows}.parquet", rows + rows // HELD_OUT, ask.seed)
    for name in filter(ask.wants, PROGRAMS):
        for rows in sizes:
            facts = {"rows": rows, "held out": rows // HELD_OUT}
            yield record.Case(name=f"{name} {rows}", title=name, facts=dict(facts))


Beside = tuple[Ratio, bool]
"""A side beside plain scikit-learn, in one case: times, and whether the scores are equal."""


def beside(results: Results, case: str, side: str) -> Beside | None:
    """Compare a side of a case with the plain one; None where one was not measured."""
    ours, plain = (results.cell(case, each) for each in (side, PLAIN))
    time_ratio = results.ratio(case, "fit+predict", side, PLAIN)
    if ours is None or plain is None or time_ratio is None:
        return None
    a, b = (cell.values["score"] or 0.0 for cell in (ours, plain))
    return time_ratio, abs(a - b) <= SAME_SCORE * max(1.0, abs(b))


def notes(results: Results) -> str:
    """Return how both sides meet their targets at each size."""
    head = [
        *("rows", "programs", f"`Accelerated`: median (target: {FASTER:.2f}× faster)"),
        *("slower", f"may be over {SLOWER}× slower"),
        f"unchanged: median (target: {FASTER_SCRIPT:.2f}× faster)",
        *(f"over {SLOWER_SCRIPT}× slower", "different scores"),
    ]
    lines = []
    for rows, titles in _by_size(results).items():
        ours, scripts = (
            {
                title: found
                for title in titles
                if (found := beside(results, f"{title} {rows}", side))
            }
            for side in (OURS, ACCEL)
        )
        ends = [time.interval or [time.value] for time, _ in ours.values()]
        surely, may_be = sum(low > 1 for low, *_ in ends), sum(each[-1] > SLOWER for each in ends)
        slower = [t for t, (time, _) in scripts.items() if time.value > SLOWER_SCRIPT]
        unequal = sum(not same for _, same in [*ours.values(), *scripts.values()])
        lines.append([
            f"{rows:,}", str(len(ours)), _median(ours), str(surely), str(may_be), _median(scripts),
            (", ".join(slower) or "none") if scripts else MISSING, str(unequal),
        ])  # fmt: skip
    return report.table(head, lines, range(len(head)))


def every(results: Results) -> str:
    """Return the table of all programs, with their speed at each size."""
    sizes = _by_size(results)
    head = ["program", *(f"{rows:,} rows" for rows in sizes)]
    titles = dict.fromkeys(case.title for case in results.cases)
    lines = [[t, *(_line(beside(results, f"{t} {rows}", OURS)) for rows in sizes)] for t in titles]
    return report.table(head, lines, range(1, len(head)))


def threads(results: Results) -> str:
    """Return how plain programs do with one BLAS thread, and ours beside the faster of both."""
    head = ["program", "plain, all threads, ms", "plain, one BLAS thread, ms", "ours, ms"]
    lines = []
    for case in results.cases:
        if not _runs(case, ONE):
            continue
        cells = [results.cell(case.name, each) for each in (PLAIN, ONE, OURS)]
        taken = [cell.median("fit+predict") if cell else np.inf for cell in cells]
        faster = ONE if taken[1] < taken[0] else PLAIN
        pace = report.speed(results.ratio(case.name, "fit+predict", OURS, faster))
        shown = (f"{1000 * each:.1f}" if each < np.inf else MISSING for each in taken)
        lines.append([case.title, *shown, pace])
    return report.table([*head, "ours beside the faster plain one"], lines, range(1, 5))


def _by_size(results: Results) -> dict[int, list[str]]:
    """Return size -> programs."""
    found: dict[int, list[str]] = {}
    for case in results.cases:
        found.setdefault(int(case.facts["rows"]), []).append(case.title)
    return dict(sorted(found.items()))


def _median(found: dict[str, Beside]) -> str:
    times = [time.value for time, _ in found.values()]
    return report.speed(Ratio(float(np.median(times)), None) if times else None)


def _line(found: Beside | None) -> str:
    time, equal = found or (None, True)
    return f"{report.speed(time)}{'' if equal else ' **different score**'}"


def _runs(case: record.Case, variant: str) -> bool:
    """Return whether a variant is measured: ours and plain always are."""
    rows = case.facts["rows"]
    if variant == ACCEL:
        return rows <= MIDDLE
    return variant != ONE or (case.title in THREADED and rows == MIDDLE)


CLAIM = Claim(
    name="programs",
    settings={"rows": (1_000, 100_000, 1_000_000), "budget": (10,)},
    repeats=5,
    most=15,
    shares="claim",
    cases=_cases,
    start=start,
    names=tuple(PROGRAMS),
    variants=[
        Variant(name=PLAIN, title="plain scikit-learn"),
        Variant(name=ONE, title="the same with one BLAS thread"),
        Variant(name=OURS, title="ours"),
        Variant(name=ACCEL, title="plain scikit-learn under accel"),
    ],
    runs=_runs,
    clock="fit and predict or transform, in memory; a first plain run of at most {budget} s",
    notes=notes,
)
