"""The columns of the table at a glance."""

from __future__ import annotations

from pipeline.benchmark.record.results import Results
from pipeline.benchmark.report.html_table import ReportTable, TableCell, row
from pipeline.task.cautions.overview import ColumnSummary
from pipeline.task.cautions.split import DRIFTED
from pipeline.task.numerals import MISSING, count, share

HEAD = (
    "Column", "Kind", "Missing", "Distinct", "Minimum", "Median", "Maximum", "Most frequent",
    "Drift", "Cautions",
)  # fmt: skip
NOTE = (
    "Drift: the AUC with which the column alone separates test rows from training rows, on "
    "held-out rows; 0.5 or less means no difference, and above {:g} there is a caution. An "
    "infinite number counts as missing."
)


def column_table(results: Results) -> ReportTable | None:
    """Return a row for the target and for each feature; None where a record has no summary."""
    found = results.table
    if found is None:
        return None
    said = [
        f"{'A random sample of ' if found.sampled else ''}{count(found.rows, 'row')} "
        "for training and testing."
    ]
    if found.left_out:
        said.append(f"{count(found.left_out, 'more column')} not shown.")
    rows = (_row(each, each.name == results.task.target) for each in found.columns)
    note = " ".join([*said, NOTE.format(DRIFTED)])
    return ReportTable("Columns of the table", HEAD, "llrrrrrlrl", tuple(rows), note)


def _row(column: ColumnSummary, is_target: bool) -> tuple[TableCell, ...]:
    most = MISSING
    if column.share is not None:
        most = f"{column.most_frequent} ({share(column.share)})"
    return row(
        f"{column.name} (target)" if is_target else column.name,
        column.kind,
        TableCell(share(column.missing), "" if column.missing else "quiet"),
        MISSING if column.distinct is None else f"{column.distinct:,}",
        *map(_value, (column.low, column.median, column.high)),
        most,
        MISSING if column.drift is None else f"{column.drift:.3f}",
        ", ".join(column.cautions) or MISSING,
    )


def _value(value: float | str | None) -> str:
    """Write a number with four digits, or more where it has more before the point.

    >>> _value(0.123456), _value(1_234_567.0), _value(1e300), _value("2013-01-01")
    ('0.1235', '1,234,567', '1e+300', '2013-01-01')
    """
    if value is None or isinstance(value, str):
        return value or MISSING
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
