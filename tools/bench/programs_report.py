"""What follows of the record of programs: tables, targets and the plot."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from pipeline.benchmark.report.format import MISSING, metric
from pipeline.benchmark.report.format import size as in_bytes
from pipeline.benchmark.statistics import Ratio, ratio
from tools.bench import preprocessing, record, report
from tools.bench.record import Results

PLAIN, OURS = "plain", "ours"
WIDE = "wide"
FLIGHTS = ("flights-logistic", "flights-xgboost")
MEDIAN, MOST_FLIGHTS = 0.6, 0.8
MOST = {"time": 1.05, "memory": 1.1}
"""Targets for the ratios, set before any run; these for the upper ends of the intervals."""
SAME_SCORE = 0.001
"""Largest difference of two scores that counts as equal, relative to a score beyond 1."""
LITTLE = 4 * report.MIB
"""Less memory than this counts as this: by about as much the allocator's own moves vary."""
Find = Callable[[Results, str], Ratio | None]


def time_ratio(results: Results, case: str) -> Ratio | None:
    """Return our time of a case over plain scikit-learn's."""
    return results.ratio(case, "fit+predict", OURS, PLAIN)


def memory_ratio(results: Results, case: str) -> Ratio | None:
    """Return our peak memory of a case over plain scikit-learn's."""
    ours, plain = (results.cell(case, way) for way in (OURS, PLAIN))
    return ratio(_taken(ours), _taken(plain)) if ours and plain else None


def _taken(cell: record.Cell) -> npt.NDArray[np.float64]:
    held = [max(run.bytes["peak"] - run.bytes["before"], LITTLE) for run in cell.runs]
    return np.array(held, dtype=np.float64)


RATIOS: dict[str, Find] = {"time": time_ratio, "memory": memory_ratio}


def same_score(results: Results, case: str) -> bool:
    """Whether both sides have the same score."""
    ours, plain = (results.cell(case, way) for way in (OURS, PLAIN))
    if ours is None or plain is None:
        return False
    a, b = (cell.values["score"] or 0.0 for cell in (ours, plain))
    return abs(a - b) <= SAME_SCORE * max(1.0, abs(b))


def upper(found: Ratio) -> float:
    """Return the upper end of the interval, or the ratio itself where the runs are too few."""
    return found.interval[1] if found.interval else found.value


def part(results: Results) -> str:
    """Return the targets with what was found of them at each size, and who misses them."""
    every = sizes(results)
    lines = [[name, *(find(results, rows) for rows in every)] for name, find in LINES.items()]
    head = ["target", *(f"{rows:,} rows" for rows in every)]
    parts = [report.table(head, lines, range(1, len(head)))] if every else []
    for what, find in RATIOS.items():
        for rows in every:
            named = ", ".join(_above(results, rows, find, MOST[what]))
            parts += [f"Upper end above {MOST[what]:g}×, {what} of {rows:,} rows: {named}."] * bool(
                named
            )
    return "\n\n".join([*parts, *_wide(results)])


def page(results: Results) -> str:
    """Return the part of the docs: the same, and the plot."""
    return f"{part(results)}\n\n![Ratios of time and of memory, by program and size](programs.svg)"


def sizes(results: Results) -> list[int]:
    """Return the rows that programs learnt from, the fewest first."""
    return sorted({int(case.facts["rows"]) for case in programs(results)})


def programs(results: Results, rows: int = 0) -> list[record.Case]:
    """Return the cases of programs, of one size if it is given."""
    every = [case for case in results.cases if not case.name.startswith(WIDE)]
    return [case for case in every if rows in (0, case.facts["rows"])]


def ratios(results: Results, rows: int, find: Find) -> dict[str, Ratio]:
    """Return title -> ratio, where there is one."""
    found = {case.title: find(results, case.name) for case in programs(results, rows)}
    return {title: ratio for title, ratio in found.items() if ratio}


def _above(results: Results, rows: int, find: Find, most: float) -> Iterator[str]:
    found = ratios(results, rows, find)
    for title in sorted(found, key=lambda title: -upper(found[title])):
        if upper(found[title]) > most:
            yield f"{title} {found[title].value:.2f}×"
    for case in programs(results, rows):
        if results.cell(case.name, PLAIN) and not results.cell(case.name, OURS):
            yield f"{case.title} ({_why(results, case.name, OURS)})"


def _judged(said: str, met: bool) -> str:
    return f"{said} {'PASS' if met else '**miss**'}"


def _median(results: Results, rows: int) -> str:
    found = [each.value for each in ratios(results, rows, time_ratio).values()]
    if not found:
        return MISSING
    return _judged(f"{np.median(found):.2f}×", bool(np.median(found) <= MEDIAN))


def _highest(find: Find, most: float) -> Callable[[Results, int], str]:
    def text(results: Results, rows: int) -> str:
        found = ratios(results, rows, find)
        if not found:
            return MISSING
        worst, above = max(map(upper, found.values())), len([*_above(results, rows, find, most)])
        return _judged(f"{worst:.2f}×, {above} of {len(found)} above:", not above)

    return text


def _flights(title: str) -> Callable[[Results, int], str]:
    def text(results: Results, rows: int) -> str:
        found = ratios(results, rows, time_ratio).get(title)
        if found is None:
            return MISSING
        met = found.value <= MOST_FLIGHTS and same_score(results, f"{title} {rows}")
        return _judged(report.times(found, faster=False, digits=2), met)

    return text


def _unequal(results: Results, rows: int) -> str:
    cases = [case.name for case in programs(results, rows) if time_ratio(results, case.name)]
    other = [name for name in cases if not same_score(results, name)]
    return _judged(f"{len(other)} of {len(cases)}", not other) if cases else MISSING


def _not_run(results: Results, rows: int) -> str:
    cases = programs(results, rows)
    return str(sum(results.cell(case.name, PLAIN) is None for case in cases))


LINES: dict[str, Callable[[Results, int], str]] = {
    f"median time ≤ {MEDIAN:g}×": _median,
    **{
        f"each {name} ≤ {most:g}× (upper end)": _highest(RATIOS[name], most)
        for name, most in MOST.items()
    },
    **{f"{t} ≤ {MOST_FLIGHTS:g}×, equal scores": _flights(t) for t in FLIGHTS},
    "unequal scores: none": _unequal,
    "not run: plain scikit-learn takes too long": _not_run,
}


def _wide(results: Results) -> Iterator[str]:
    for case in results.cases:
        cell = results.cell(case.name, OURS)
        if case.name.startswith(WIDE) and cell:
            taken, allowed = preprocessing.taken(cell), preprocessing.allowed(cell)
            given, output = (in_bytes(cell.values[f"{n} bytes"] or 0) for n in ("input", "output"))
            yield (
                f"`OneHotEncoder()` of {case.facts['rows']:,} rows of {case.title}, {given}: a "
                f"peak of {in_bytes(taken)} beyond them, CSR of {output}, allowed is CSR + 25 % of "
                f"the input: {_judged(in_bytes(allowed), taken <= allowed)}."
            )


def details(results: Results) -> str:
    """Return the whole document that lies beside the record."""
    parts = ["# Programs as people write them, here and in plain scikit-learn"]
    parts += [report.machine(results), part(results)]
    for rows in sizes(results):
        cases = programs(results, rows)
        held = f"{cases[0].facts['held out']:,}"
        parts += [f"## {rows:,} rows to learn from, {held} to predict"]
        lines = [[case.title, *_line(results, case.name)] for case in cases]
        parts.append(report.table(HEAD, lines, range(1, len(HEAD))))
    parts.append("## The programs")
    parts += [f"`{title}`\n\n```python\n{code}\n```" for title, code in _codes(results).items()]
    return "\n\n".join(parts) + "\n"


HEAD = ["program", "plain, ms", "ours, ms", "time", "plain, MiB", "ours, MiB", "memory",
        "score", "ours"]  # fmt: skip


def _line(results: Results, name: str) -> list[str]:
    plain, ours = (results.cell(name, way) for way in (PLAIN, OURS))
    times = [_why(results, name, PLAIN), _why(results, name, OURS) if plain else MISSING]
    held, scores = [MISSING, MISSING], [MISSING, MISSING]
    for i, cell in enumerate((plain, ours)):
        if cell:
            times[i] = f"{1e3 * cell.median('fit+predict'):,.1f}"
            held[i] = f"{np.median(_taken(cell)) / report.MIB:,.0f}"
            scores[i] = metric(cell.values["score"])
    if plain and ours and not same_score(results, name):
        scores[1] += " **other**"
    found = [find(results, name) for find in RATIOS.values()]
    time, memory = (report.times(each, faster=False, digits=2) for each in found)
    return [*times, time, *held, memory, *scores]


def _why(results: Results, case: str, way: str) -> str:
    """Return why a side has no times, or nothing."""
    every = (cell for cell in results.cells if (cell.case, cell.variant) == (case, way))
    return next((cell.why for cell in every), MISSING)


def _codes(results: Results) -> dict[str, str]:
    return {case.title: case.code for case in programs(results)}
