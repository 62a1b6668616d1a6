from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import FastICA
from sklearn.feature_selection import SelectPercentile
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline import explain

NAME = '<script>alert("|")</script>'


class Badges(HTMLParser):
    """Collects the badge in each estimator of scikit-learn's diagram, by path, and all tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.tags: list[str] = []
        self.badge: str | None = None
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        if tag == "span" and (given.get("class") or "").startswith("place "):
            self.inside = True
        if "data-param-prefix" in given and self.badge is not None:
            self.found[given["data-param-prefix"] or ""] = self.badge
            self.badge = None

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "span"

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.badge = data


def program(last: object) -> Pipeline:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    table = make_column_transformer((numbers, ["a"]), (OneHotEncoder(), ["b"]))
    return make_pipeline(table, FastICA(), last)


def test_each_step_of_the_diagram_has_a_badge() -> None:
    shown = Badges(explain(program(XGBClassifier()), "cuda").to_html())
    assert shown.found == {
        "columntransformer__pipeline__simpleimputer__": "GPU",
        "columntransformer__pipeline__standardscaler__": "GPU",
        "columntransformer__onehotencoder__": "GPU",
        "fastica__": "no equivalent",
        "xgbclassifier__": "GPU",
    }


@pytest.mark.parametrize(
    ("estimator", "paths"),
    [
        (KMeans(), [""]),
        (make_column_transformer((StandardScaler(), ["a"])), ["standardscaler__"]),
        (FeatureUnion([("one", MinMaxScaler()), ("two", StandardScaler())]), ["one__", "two__"]),
        (
            Pipeline([("a.b", MinMaxScaler()), ("last", LogisticRegression())]),
            ["a.b__", "last__"],
        ),
    ],
)
def test_specs_of_every_form_have_badges(estimator: object, paths: list[str]) -> None:
    shown = Badges(explain(estimator, "cpu")._repr_html_())
    assert shown.found == dict.fromkeys(paths, "CPU")


def test_a_step_that_runs_as_it_is_is_marked() -> None:
    estimator = make_pipeline(SelectPercentile(), LogisticRegression())
    shown = Badges(explain(estimator, "cpu").to_html())
    assert shown.found["selectpercentile__"] == "CPU, not as asked"


def test_names_come_out_as_text() -> None:
    estimator = Pipeline([(NAME, MinMaxScaler()), ("last", LogisticRegression())])
    text = explain(estimator, "cpu")._repr_html_()
    assert NAME not in text
    assert Badges(text).tags.count("script") == 1, (
        "scikit-learn's own, which a reader can do without"
    )


def test_a_page_is_whole() -> None:
    text = explain(KMeans(), "cpu").to_html()
    assert text.startswith("<!doctype html>")
    assert "http" not in text.partition("</style>")[0]


def test_data_hold_reasons_and_parameters() -> None:
    found = json.loads(json.dumps(explain(program(XGBClassifier()), "cuda").to_dict()))
    assert (found["device"], found["why"], found["supported"]) == ("cuda", "asked for", False)
    steps = {step["step"]: step for step in found["steps"]}
    assert steps["xgbclassifier"]["parameters"] == {"device": "cuda"}
    (reason,) = steps["fastica"]["reasons"]
    assert "PCA" in reason["instead"]
    assert explain(LogisticRegression(), "cpu").supported


def test_auto_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.system.devices.obstacle", lambda: "none here")
    assert explain(LogisticRegression()).why == "no usable GPU: none here"
