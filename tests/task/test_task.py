from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline.errors import ConfigError
from pipeline.task import task
from pipeline.task.task import Split, Task

ROOT = Path(__file__).parents[2]
EARLY = Split([("month", "<=", 9)], [("month", ">", 9)], "in time")
ANY = Split([("fold", "<", 75)], [("fold", ">=", 75)], "at random")


def linear(seed: int) -> Pipeline:
    return make_pipeline(StandardScaler(), LogisticRegression(random_state=seed))


@pytest.fixture
def toy() -> Task:
    return Task(
        name="toy",
        title="Toy",
        prepare=lambda home: home / "toy.parquet",
        features=["a"],
        target="y",
        pipelines={"linear": linear},
        splits={"time": EARLY, "random": ANY},
        metrics={"roc_auc": roc_auc_score},
        margins={"roc_auc": 0.002},
        licence="CC0",
        source="nowhere",
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of tasks in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "__init__.py").touch()
    return tmp_path / "tasks"


def test_a_spec_takes_the_seed_and_the_changes(toy: Task) -> None:
    changes = {"logisticregression__C": 0.5, "standardscaler__with_mean": False}
    pipeline = toy.pipeline("linear", 7, changes)
    assert pipeline[-1].random_state == 7
    assert pipeline[-1].C == 0.5
    assert pipeline[0].with_mean is False


def test_names_are_the_files_without_underscore_and_none_is_imported(folder: Path) -> None:
    (folder / "b.py").touch()
    (folder / "a.py").write_text('raise RuntimeError("imported")\n')
    (folder / "_c.py").touch()
    assert task.task_names() == ["a", "b"]


@pytest.mark.parametrize("name", ["../secret", "__init__", "flights.py", ""])
def test_a_name_is_not_a_path(folder: Path, name: str) -> None:
    (folder / "flights.py").touch()
    (folder.parent / "secret.py").touch()
    with pytest.raises(ConfigError, match="unknown task"):
        task.load(name)


def test_a_ranking_names_its_query_and_nothing_else_does(toy: Task) -> None:
    with pytest.raises(ConfigError, match="toy: set query= for kind 'ranking', and only"):
        replace(toy, kind="ranking")
    with pytest.raises(ConfigError, match="set query="):
        replace(toy, query="query")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "multiclass", "positive": "bad"}, "positive='bad' needs kind='binary'"),
        ({"kind": "clusters", "weight": "w"}, "kind 'clusters' takes no weight"),
        ({"kind": "ranking", "query": "q", "weight": "w"}, "kind 'ranking' takes no weight"),
        ({"weight": "a"}, "'a' cannot be a feature"),
        ({"row_id": "a"}, "'a' cannot be a feature"),
        ({"target": "a"}, "'a' cannot be a feature"),
    ],
    ids=str,
)
def test_what_contradicts_itself_in_a_task_is_refused(toy: Task, changes, said: str) -> None:
    with pytest.raises(ConfigError, match=f"^toy: .*{said}"):
        replace(toy, **changes)


def test_choices_of_the_data_reach_the_dataset_and_none_is_its_own(toy: Task) -> None:
    made: list[object] = []

    def prepare(home: Path, given: Path | None = None, *, rows: int = 100) -> Path:
        made.append((given, rows))
        return home

    task_ = replace(toy, prepare=prepare)
    task_.data(Path("data"))
    task_.data(Path("data"), Path("file"), rows=None)
    task_.data(Path("data"), rows=7)
    assert made == [(None, 100), (Path("file"), 100), (None, 7)]


def test_a_choice_that_cannot_be_is_the_datasets_own_words(toy: Task) -> None:
    def prepare(home: Path, *, rows: int = 100) -> Path:
        raise ValueError("rows: 7 is too few")

    with pytest.raises(ConfigError, match="^--rows: 7 is too few$"):
        replace(toy, prepare=prepare).data(Path("data"), rows=7)


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("ranking", "generated, any ROWS"),
        ("digits", "-"),
        ("covertype", "11 MB to download"),
    ],
)
def test_a_task_says_what_its_data_need(
    name: str, needs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    facts = task.facts(name)
    assert facts.needs == needs
    assert facts.rows > 1_000
