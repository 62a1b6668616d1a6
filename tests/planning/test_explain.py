from __future__ import annotations

import json
from html.parser import HTMLParser

from sklearn.compose import make_column_transformer
from sklearn.decomposition import FastICA
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline import explain

NAME = '<script>alert("|")</script>'


class Badges(HTMLParser):
    """Collects the badge in each row of the table, by the step's path, and all tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.tags: list[str] = []
        self.inside = self.step = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "th" and ("scope", "row") in attrs:
            self.inside, self.step = "step", ""
        elif tag == "span":
            self.inside = "badge"

    def handle_endtag(self, tag: str) -> None:
        self.inside = "" if tag in ("th", "span") else self.inside

    def handle_data(self, data: str) -> None:
        if self.inside == "step":
            self.step += data
        elif self.inside == "badge":
            self.found[self.step] = data


def program(last: object) -> Pipeline:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    table = make_column_transformer((numbers, ["a"]), (OneHotEncoder(), ["b"]))
    return make_pipeline(table, FastICA(), last)


def test_each_step_has_a_badge() -> None:
    shown = Badges(explain(program(XGBClassifier()), "cuda").to_html())
    assert shown.found == {
        "columntransformer.pipeline.simpleimputer": "GPU",
        "columntransformer.pipeline.standardscaler": "GPU",
        "columntransformer.onehotencoder": "GPU",
        "fastica": "no equivalent",
        "xgbclassifier": "GPU",
    }

    estimator = make_pipeline(RandomTreesEmbedding(), LogisticRegression())
    as_it_is = Badges(explain(estimator, "cpu").to_html())
    assert as_it_is.found["randomtreesembedding"] == "CPU, not as asked"


def test_names_come_out_as_text() -> None:
    estimator = Pipeline([(NAME, MinMaxScaler()), ("last", LogisticRegression())])
    text = explain(estimator, "cpu").to_html()
    assert text.startswith("<!doctype html>")
    assert "http" not in text.partition("</style>")[0]
    assert NAME not in text
    shown = Badges(text)
    assert list(shown.found) == [NAME, "last"]
    assert "script" not in shown.tags


def test_data_hold_reasons_and_parameters() -> None:
    found = json.loads(json.dumps(explain(program(XGBClassifier()), "cuda").to_dict()))
    assert (found["device"], found["why"], found["supported"]) == ("cuda", "asked for", False)
    steps = {step["step"]: step for step in found["steps"]}
    assert steps["xgbclassifier"]["parameters"] == {"device": "cuda"}
    (reason,) = steps["fastica"]["reasons"]
    assert "PCA" in reason["instead"]
    assert str(explain(program(XGBClassifier()), "cuda")).count("no equivalent") == 1
    assert (steps["fastica"]["device"], steps["fastica"]["implementation"]) == ("", "")
    assert explain(LogisticRegression(), "cpu").supported
