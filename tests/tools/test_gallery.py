from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

from tools.gallery.count import FOLDERS, PROGRAMS, RECORD, count, evaluate, read_programs, summary
from tools.gallery.read import read


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("Ridge(alpha=2.0).fit(X, y)", ["Ridge(alpha=2.0)"]),
        ("Ridge(alpha)", ["Ridge()"]),
        ("alpha = 3\nRidge(alpha)", ["Ridge(alpha=3)"]),
        ("for alpha in alphas:\n    Ridge(alpha=alpha)", ["Ridge()"]),
        ("import x\nx.y(svm.SVC(C=np.exp(1)))", ["SVC(C=np.exp(1))"]),
        (
            "s = StandardScaler()\nm = make_pipeline(s, Ridge())\nGridSearchCV(m, grid)",
            ["GridSearchCV(estimator=make_pipeline(StandardScaler(), Ridge()), param_grid={})"],
        ),
        (
            "def f(n):\n    return SplineTransformer(n_knots=n)\nmake_pipeline(f(3), Ridge())",
            ["make_pipeline(SplineTransformer(), Ridge())"],
        ),
        (
            "def f(x):\n    return x\nFunctionTransformer(f)",
            ["FunctionTransformer(func=own)"],
        ),
        (
            "make_column_transformer((OneHotEncoder(), names))",
            ["make_column_transformer((OneHotEncoder(), ['column']))"],
        ),
        (
            "ColumnTransformer([('a', 'drop', ['x']), ('b', PCA(), names)])",
            [
                "ColumnTransformer(transformers=[('a', 'drop', ['x']), ('b', PCA(), ['column'])])",
            ],
        ),
        ("models = {'a': Ridge(), 'b': Lasso()}", ["Ridge()", "Lasso()"]),
        ("class Own(BaseEstimator):\n    pass\nOwn()", []),
        ("make_pipeline(unknown, Ridge())", ["Ridge()"]),
    ],
)
def test_what_a_file_makes_stands_alone(source: str, made: list[str]) -> None:
    assert read(source)[0] == made
    for text in made:
        evaluate(text)


def test_the_folders_of_the_sources_are_read(tmp_path: Any) -> None:
    for folder, name, text in [
        ("examples", "a/plot.py", "Ridge()\nmake_pipeline(unknown, Lasso())"),
        ("doc", "b.rst", "Text::\n\n    >>> SVC()\n    SVC()\n"),
        ("doc", "c.rst", "No code."),
    ]:
        file = tmp_path / folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    found = read_programs(tmp_path)
    assert [found[folder] for folder in FOLDERS] == [
        {"a/plot.py": ["Ridge()", "Lasso()"]},
        {"b.rst": ["SVC()"]},
    ]
    assert found["left_out"] == 1


def test_steps_are_counted_by_where_they_run() -> None:
    made = ["make_pipeline(StandardScaler(), Birch())", "OneVsRestClassifier(SVC())"]
    counted = count({"sklearn": "1", "left_out": 0, "examples": {"a.py": made}, "doc": {}})
    found = counted["examples"]
    assert found["steps"] == {"on the GPU": 2, "on the host": 1, "refused": 1}
    assert found["share"] == 0.75
    assert found["refused_in_files"] == {"Birch has no rule for the GPU": 1}
    assert summary(counted).startswith("examples: 75.0% of the steps of 2 run (2 on the GPU, ")


def test_no_step_of_the_documents_that_ran_is_refused_now() -> None:
    record = json.loads(RECORD.read_text("utf-8"))
    with warnings.catch_warnings(action="ignore"):
        counted = count(json.loads(PROGRAMS.read_text("utf-8")))
    for folder in FOLDERS:
        assert counted[folder]["pipelines"] == record[folder]["pipelines"]
        assert counted[folder]["share"] >= record[folder]["share"]
