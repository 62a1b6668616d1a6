from __future__ import annotations

import json

from sklearn.compose import make_column_transformer
from sklearn.decomposition import FastICA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import LabelEncoder, MinMaxScaler, OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated, explain

NAME = '<script>alert("|")</script>'


def program(last: object) -> Pipeline:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    table = make_column_transformer((numbers, ["a"]), (OneHotEncoder(), ["b"]))
    return make_pipeline(table, FastICA(), last)


def test_a_notebook_shows_a_table_of_escaped_names() -> None:
    estimator = Pipeline([(NAME, MinMaxScaler()), ("ica", FastICA()), ("last", Ridge())])
    page = explain(estimator, "cuda")._repr_html_()
    assert "&lt;script&gt;alert" in page
    assert NAME not in page
    assert page.count("no equivalent") == 1


def test_texts_and_labels_are_no_table() -> None:
    for estimator in (CountVectorizer(), LabelEncoder()):
        (place,) = explain(estimator, "cpu", ["a b", "c"]).placements
        assert place.note == ""
    assert "a table has 2" in explain(StandardScaler(), "cpu", [1, 2]).placements[0].note


def test_data_hold_reasons_and_parameters() -> None:
    found = json.loads(json.dumps(explain(program(XGBClassifier()), "cuda").to_dict()))
    assert (found["device"], found["why"], found["supported"]) == ("cuda", "as requested", False)
    steps = {step["step"]: step for step in found["steps"]}
    assert steps["xgbclassifier"]["parameters"] == {"device": "cuda"}
    (reason,) = steps["fastica"]["reasons"]
    assert "PCA" in reason["instead"]
    assert str(explain(program(XGBClassifier()), "cuda")).count("no equivalent") == 1
    assert (steps["fastica"]["device"], steps["fastica"]["implementation"]) == ("", "")
    assert explain(LogisticRegression(), "cpu").supported


def test_what_is_inside_an_accelerated_is_explained() -> None:
    inside = program(XGBClassifier())
    for device in ("cpu", "cuda"):
        expected = explain(inside, device, dtype="float64")
        model = Accelerated(inside, device=device, dtype="float64")
        assert str(explain(model)) == str(model.explain()) == str(expected)
    assert str(explain(Accelerated(inside, device="cpu"), "cuda")) == str(explain(inside, "cuda"))
    search = GridSearchCV(Accelerated(inside, device="cuda"), {})
    assert str(explain(search)) == str(explain(GridSearchCV(inside, {}), "cuda"))
    assert type(search.estimator) is Accelerated


def test_an_accelerated_inside_another_is_refused_with_the_way_out() -> None:
    found = explain(make_pipeline(MinMaxScaler(), Accelerated(Ridge())), "cuda")
    assert "use one Accelerated around the pipeline" in str(found)
