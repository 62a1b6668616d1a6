"""Write the parts of documents that follow from the code and from measured results.

    python tools/readme.py

The parts stand between ``<!-- name -->`` and ``<!-- /name -->``; a test fails
when they are out of date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from pipeline.backends.array_api import ESTIMATORS, SWITCH
from pipeline.backends.cuml.tables import APART, CUML, SUBSTITUTES, XGBOOST
from pipeline.backends.cuml.text import CUML as VECTORIZERS
from pipeline.benchmark import results, task
from pipeline.benchmark.statistics import cell_parity, speed
from pipeline.preprocessing.engine.twin import ANY, Twin
from pipeline.preprocessing.transformers import TWINS
from tools.bench import cluster, markdown, prediction, scaling, schema, streaming, wrapper
from tools.synthetic import markdown as synthetic

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
CLUSTER = ROOT / "docs" / "cluster.md"
BENCHMARKS = ROOT / "docs" / "benchmarks.md"
RULES = ROOT / "docs" / "estimators.md"
SYNTHETIC = ROOT / "docs" / "synthetic.md"
TASKS = ROOT / "docs" / "tasks.md"
MEASURED = Path("docs/results/flights-cpu/results.json")
R = TypeVar("R")


def support() -> str:
    """Return the table of what runs where, from the rules."""
    lines = ["| preprocessing | on `cpu` | on `cuda` | parameters |", "|---|---|---|---|"]
    for sklearn_class, twin in sorted(TWINS.items(), key=lambda item: item[0].__name__):
        ours = "ours, NumPy"
        lines.append(f"| `{sklearn_class.__name__}` | {ours} | ours, CuPy | {honoured(twin)} |")
    lines.append("| `LabelEncoder` | ours, pandas | ours, on the host | all |")
    containers = "`ColumnTransformer`, `FeatureUnion`, `Pipeline`"
    lines.append(f"| {containers} | ours | ours | all |")
    lines += ["", "| estimators | on `cpu` | on `cuda` |", "|---|---|---|"]
    for names, on_cpu, on_cuda in groups():
        lines.append(f"| {', '.join(f'`{name}`' for name in names)} | {on_cpu} | {on_cuda} |")
    lines.append("| anything else | as it is | refused, or on the host with `auto` |")
    return "\n".join(lines)


def groups() -> Iterator[tuple[list[str], str, str]]:
    """Return the estimators that run alike, with what runs them on the CPU and on a GPU."""
    ours = {name for name, rule in CUML.items() if rule.own}
    yield _short(CUML.keys() - ours - APART.keys()), "scikit-learn", "cuML, as cuML translates them"
    yield _short(ours), "scikit-learn", "cuML, as we translate them"
    for name, package in APART.items():
        yield _short([name]), package, "cuML, as cuML translates it"
    yield sorted(kind.__name__ for kind in VECTORIZERS), "scikit-learn", "cuML, see `explain`"
    on_cupy = f"scikit-learn on CuPy, with `{SWITCH}=1` in the environment"
    yield _short(ESTIMATORS), "scikit-learn", on_cupy
    yield list(XGBOOST), "XGBoost", 'XGBoost, `device="cuda"`'


def _short(names: Iterable[str]) -> list[str]:
    return sorted(name.rpartition(".")[2] for name in names)


def estimators() -> str:
    """Return the table of the rules, one row an estimator."""
    lines = ["| estimator | cuML's class | sparse rows | `sample_weight` | several targets |"]
    lines.append("|---|---|:---:|:---:|:---:|")
    for name, rule in sorted(CUML.items(), key=lambda item: item[0].rpartition(".")[2]):
        can = ["yes" if each else "" for each in (rule.sparse, rule.weights, rule.targets)]
        lines.append(f"| `{name.rpartition('.')[2]}` | `{rule.twin}` | {' | '.join(can)} |")
    return "\n".join(lines)


def nearest() -> str:
    """Return the table of what has no faithful twin, with the nearest that has."""
    rows = (f"| `{name}` | {instead} |" for name, instead in SUBSTITUTES.items())
    return "\n".join(["| no faithful twin | the nearest on the GPU |", "|---|---|", *rows])


def honoured(twin: type[Twin[object]]) -> str:
    """Return the parameters a twin takes, with the values where not all are."""
    return ", ".join(
        f"`{name}`" + ("" if values is ANY else f" ({', '.join(map(_shown, values))})")
        for name, values in twin.supported_params.items()
    )


def _shown(value: object) -> str:
    return str(getattr(value, "__name__", value))


def measured() -> str:
    """Return the times of the last `make bench`, with its machine."""
    found = results.load(ROOT / MEASURED)
    lines = ["| program | scikit-learn, s | ours, s | ratio | 95 % interval | quality |"]
    lines.append("|---|---:|---:|---:|:---:|:---:|")
    for pipeline in found.pipelines:
        reference, ours = (
            speed(found, pipeline.name, "reference"),
            speed(found, pipeline.name, "cpu"),
        )
        if reference is None or ours is None or ours.ratio is None or not ours.ratio.interval:
            raise SystemExit(f"{MEASURED}: {pipeline.name} was not measured; run `make bench`")
        low, high = ours.ratio.interval
        lines.append(
            f"| {pipeline.name} | {reference.median:.2f} | {ours.median:.2f} | "
            f"{ours.ratio.value:.2f} "
            f"| {low:.2f}–{high:.2f} | {cell_parity(found, pipeline.name, 'cpu')} |"
        )
    here, data = found.machine, found.task
    return (
        "\n".join(lines)
        + f"\n\nMedians of {found.protocol.repeats} interleaved runs, from opening the file to "
        f"predictions; {data.rows_train:,} training and {data.rows_test:,} test rows; {here.cpu}, "
        f"{here.cores} cores, no GPU; {found.created[:10]}."
    )


def tasks() -> str:
    """Return the table of tasks, from what their files say of themselves."""
    lines = ["| task | kind | rows | data | |", "|---|---|---:|---|---|"]
    for name in task.names():
        facts = task.facts(name)
        needs = "bundled" if facts.needs == "-" else facts.needs
        lines.append(
            f"| [`{name}`](../tasks/{name}.py) | {facts.kind} | {facts.rows:,} | {needs} "
            f"| {task.summary(name)} |"
        )
    return "\n".join(lines)


def recorded(
    folder: str, target: str, load: Callable[[Path], R], write: Callable[[R], str]
) -> Callable[[], str]:
    """Return what makes text of a record, or says that there is none.

    Parameters
    ----------
    folder : str
        In docs/results.
    target : str
        Of `make`, which measures it.
    load, write : callable
        Read the record, and make text of it.
    """

    def text() -> str:
        path = ROOT / "docs" / "results" / folder / "results.json"
        return write(load(path)) if path.exists() else f"Not measured yet: `make {target}` does it."

    return text


def preprocessing(write: Callable[[schema.Results], str]) -> Callable[[], str]:
    """Return what makes text of the record of the preprocessing."""
    return recorded("preprocessing-cpu", "bench-preprocessing", schema.load, write)


DOCUMENTS = {
    README: {"support": support, "measured": measured, "faster": preprocessing(markdown.brief)},
    BENCHMARKS: {
        "preprocessing": preprocessing(markdown.part),
        "wrapper": recorded("wrapper-cpu", "bench-wrapper", wrapper.load, wrapper.part),
        "prediction": recorded(
            "prediction-cpu", "bench-prediction", prediction.load, prediction.part
        ),
    },
    CLUSTER: {
        "streaming": recorded("streaming-cpu", "bench-streaming", streaming.load, streaming.part),
        "workers": recorded("cluster-cpu", "bench-cluster", cluster.load, cluster.part),
        "scaling": recorded("scaling-cpu", "bench-scaling", scaling.load, scaling.part),
    },
    TASKS: {"tasks": tasks},
    RULES: {"estimators": estimators, "nearest": nearest},
    SYNTHETIC: {"best": synthetic.best, "auc": synthetic.auc, "written": synthetic.written},
}


def updated(text: str, document: Path = README) -> str:
    """Return the text of a document with its generated parts made anew."""
    for name, make in DOCUMENTS[document].items():
        before, start, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- /{name} -->")
        text = f"{before}{start}{make()}\n{end}{after}"
    return text


if __name__ == "__main__":
    for document in DOCUMENTS:
        document.write_text(updated(document.read_text(), document))
