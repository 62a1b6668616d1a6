"""Write the parts of the documentation that follow from the code and from measured results.

    .venv/bin/python -m tools.docs

The parts stand between ``<!-- name -->`` and ``<!-- /name -->``; a test fails when they, or the
reports in ``docs/results``, are out of date.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from inspect import signature
from pathlib import Path

import pandas as pd

from pipeline.backends.gpu_rules import APART, CUML, RULES
from pipeline.benchmark.record import results
from pipeline.benchmark.report.markdown import page_markdown
from pipeline.benchmark.report.panels import comparison_page
from pipeline.files.notations import CLOCKS, DAYS, NUMBERS
from pipeline.task import task
from pipeline.twins import TWINS
from pipeline.twins.twin import ANY, Twin
from tools.bench import figure, files, prediction, programs, record
from tools.bench.__main__ import CLAIMS
from tools.bench.report import table, where
from tools.gpu_proof import tables
from tools.tasks import published

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
DESCRIBED = {"Results", "TaskInfo", "Protocol", "Cell", "Run", "Agreement"}
"""Parts of the record that docs/results-schema.md describes."""


def transformers() -> str:
    """Return the transformers and the limits of their parameters, from the twins."""
    limits = {kind.__name__: _limits(kind, twin) for kind, twin in TWINS.items()}
    free = ", ".join(f"`{name}`" for name, text in sorted(limits.items()) if not text)
    limited = (f"- `{name}`: {text}" for name, text in sorted(limits.items()) if text)
    return "\n".join([f"With all parameters: {free}.", "", "With these values only:", "", *limited])


def _limits(kind: type, twin: type[Twin[object]]) -> str:
    """Return the parameters that take some values only, each with these values."""
    texts = []
    for name, parameter in signature(kind).parameters.items():
        values = twin.supported_params.get(name, (parameter.default,))
        if values is not ANY and values != (False, True):
            in_words = any(" " in str(value) for value in values)  # with the default
            shown = map(str, values if in_words else dict.fromkeys((parameter.default, *values)))
            texts.append(f"`{name}` ({', '.join(shown)})")
    return ", ".join(texts)


def estimators() -> str:
    """Return the table of the estimators by what runs them on a GPU, from the rules."""
    rows = [(by, ", ".join(names)) for by, names in _groups()]
    marks = "¹ sparse rows, ² `sample_weight`, ³ several targets."
    return f"{table(['on a GPU by', 'estimators'], rows)}\n\n{marks}"


def _groups() -> Iterator[tuple[str, list[str]]]:
    ours = {name for name, rule in CUML.items() if rule.translation}
    yield "cuML, parameters translated by cuML", _rules(CUML.keys() - ours - APART.keys())
    yield "cuML, parameters translated by this project", _rules(ours)
    for name, package in APART.items():
        yield f"cuML, of the package {package}", _rules([name])
    others = {"cuML; see `explain`": "text", "scikit-learn on CuPy": "cupy", "XGBoost": "xgboost"}
    for by, runner in others.items():
        yield by, _rules(name for name, rule in RULES.items() if rule.runner == runner)


def _rules(names: Iterable[str]) -> list[str]:
    marks = {"sparse": "¹", "weights": "²", "targets": "³"}
    return sorted(
        f"`{name.rpartition('.')[2]}`"
        + "".join(mark for taken, mark in marks.items() if taken in RULES[name].tags)
        for name in names
    )


def fields() -> str:
    """Return the fields of a record of results, from the types and their docstrings."""
    tree = ast.parse(Path(results.__file__ or "").read_text("utf-8"))
    structs = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name in DESCRIBED]
    structs.sort(key=lambda struct: struct.name != "Results")
    return "\n\n".join(map(_struct, structs))


def _struct(struct: ast.ClassDef) -> str:
    documented = [
        (node, _after(struct, node)) for node in struct.body if isinstance(node, ast.AnnAssign)
    ]
    plain = [f"`{ast.unparse(node.target)}`" for node, about in documented if not about]
    lines = [f"- {', '.join(plain)}"] if plain else []
    lines += [f"- `{ast.unparse(node.target)}`: {about}" for node, about in documented if about]
    about = (ast.get_docstring(struct) or "").replace("``", "`")
    return "\n".join([f"## `{struct.name}`", "", about, "", *lines])


def _after(struct: ast.ClassDef, field: ast.AnnAssign) -> str:
    """Return the docstring that follows a field, on one line."""
    after = struct.body[struct.body.index(field) + 1 :][:1]
    if after and isinstance(after[0], ast.Expr) and isinstance(after[0].value, ast.Constant):
        return " ".join(str(after[0].value.value).replace("``", "`").split())
    return ""


def tasks() -> str:
    """Return the table of tasks by kind, with their rows, from their files."""
    by_kind: dict[str, list[str]] = {}
    for name in published():
        facts = task.facts(name)
        text = f"[`{name}`](../tasks/{name}.py) ({facts.rows:,})"
        by_kind.setdefault(facts.kind, []).append(text)
    return table(["kind", "tasks (rows)"], [(kind, ", ".join(t)) for kind, t in by_kind.items()])


def spelled() -> dict[str, list[str]]:
    """Return values in all notations, by what they are called."""
    day = pd.Timestamp("2018-02-13 19:35:05", tz="UTC")
    marks = [str.maketrans({",": each.thousands, ".": each.decimal}) for each in NUMBERS]
    dates = ["2018Q3", "Q3 2018", "2018-W05", "1st Sept. 2018", "2018-03-13 at 7:35 p.m."]
    return {
        "numbers": ["1,234.5".translate(each) for each in marks],
        "numbers with a unit or a sign": ["12.5 kg", "-$5", "(5.5)", "5.5-"],
        "dates": [*map(day.strftime, DAYS), *dates],
        "times of day": [*map(day.strftime, CLOCKS)],
        "lengths of time, in seconds": ["26:10:05", "2 days 03:00:00"],
    }


def notations() -> str:
    """Return the table of notations, by what they are called."""
    rows = [(name, "`" + "`, `".join(cells) + "`") for name, cells in spelled().items()]
    return table(["notation", "as in"], rows)


def claimed(name: str) -> str:
    """Return what the record of a claim shows, or that there is none."""
    path = ROOT / f"docs/results/{name}-cpu/results.json"
    if path.exists():
        return CLAIMS[name].part(record.load(path))
    return (
        f"Not measured since the last change: on an idle machine, `make bench-{name}` measures it "
        "and writes the tables here."
    )


PAGES: dict[str, dict[str, Callable[[], str]]] = {
    "benchmarks.md": {
        "measured": partial(tables.reports, DOCS / "results", "flights-cpu"),
        **{name: partial(claimed, name) for name in CLAIMS},
        "gpu-reports": partial(tables.reports, DOCS / "results"),
    },
    "data.md": {"notations": notations},
    "results-schema.md": {"fields": fields},
    "supported.md": {"transformers": transformers, "estimators": estimators},
    "tasks.md": {"tasks": tasks},
}
"""Page -> its generated parts."""


def updated(page: str, text: str) -> str:
    """Return the text of a page with its generated parts made anew."""
    for name, make in PAGES[page].items():
        before, start, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- /{name} -->")
        text = f"{before}{start}{make()}\n{end}{after}" if start else text
    return text


def reports() -> Iterator[tuple[Path, str]]:
    """Yield the file of each committed report, and what today's code writes from its record."""
    for path in sorted((DOCS / "results").glob("*/report.md")):
        page = comparison_page(results.load(path.parent / "results.json"))
        yield path, page_markdown(page)


def details() -> Iterator[tuple[Path, str]]:
    """Yield the files beside records with what the benchmarks have no room for, and their text."""
    folder = DOCS / "results"
    found = record.load(folder / "programs-cpu/results.json")
    yield folder / "programs-cpu/speeds.svg", figure.speeds(found)
    text = f"# Everyday programs\n\n{programs.every(found)}\n\n{where(found)}\n"
    yield folder / "programs-cpu/programs.md", text
    text = f"# Threads of linear algebra\n\n{programs.threads(found)}\n\n{where(found)}\n"
    yield folder / "programs-cpu/threads.md", text
    found = record.load(folder / "files-cpu/results.json")
    text = f"# From files to predictions\n\n{files.every(found)}\n\n{where(found)}\n"
    yield folder / "files-cpu/files.md", text
    found = record.load(folder / "prediction-cpu/results.json")
    text = f"# Predictions over HTTP\n\n{prediction.requests(found)}\n\n{where(found)}\n"
    yield folder / "prediction-cpu/requests.md", text
    sizes = f"# Sizes from which a GPU is faster\n\n{tables.sizes(folder)}\n"
    yield folder / "gpu-proof/sizes.md", sizes
    hand = f"# Beside a program written by hand\n\n{tables.hand(folder)}\n"
    yield folder / "gpu-proof/hand.md", hand


if __name__ == "__main__":
    for path, text in [*reports(), *details()]:
        path.write_text(text, "utf-8")
    for page in PAGES:
        (DOCS / page).write_text(updated(page, (DOCS / page).read_text("utf-8")), "utf-8")
