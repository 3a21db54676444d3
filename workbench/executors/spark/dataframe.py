"""Pipelines for each key of a user's DataFrame, whose only order is that of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.domain import Domain
from workbench.core.program import Ported
from workbench.errors import InputError, did_you_mean
from workbench.events.columns import kind
from workbench.executors.spark.choice import choose
from workbench.executors.spark.key_streams import KeyLog
from workbench.executors.spark.layout import Layout
from workbench.language import AnyProgram, program_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

WHOLE = ("tinyint", "smallint", "int", "bigint")
FLOATS = ("float", "double")
ORDERED = (*WHOLE, *FLOATS, "string", "date", "timestamp", "timestamp_ntz")


def run_keyed(
    pipeline: AnyProgram, dataframe: DataFrame, *, key: str, order: str | Sequence[str], backend: str = "auto"
) -> DataFrame:
    """Run a pipeline once per key: the rows of a key, in order, are the steps of the streams, which then end.

    Errors in workers (a value outside its domain, two rows of the same order) are raised as Spark exceptions with
    workbench's message; inside `with workbench.executors.spark.error_transfer.bring_back():` as the errors themselves.

    Parameters
    ----------
    pipeline: its inputs are columns of the same names; a null means no event in this step.
    key: the column that separates the streams.
    order: the column or columns that order the rows of a key: numbers, texts, dates or times. No two rows of a key
        may agree in all of them.
    backend: `compiled`, `reference`, or `auto` for the first of them that runs the pipeline.

    Returns
    -------
    A row per step with output: the key, `step` (counted from 0 for each key) and a column per output, null where that
    output had no event. It is lazy, as DataFrames are; the workers need `workbench` on their path.

    Raises
    ------
    InputError: a column is missing, or of a type that does not fit its input.
    Refused: no executor runs the pipeline.
    """
    orders = (order,) if isinstance(order, str) else tuple(order)
    if not orders:
        raise InputError("a DataFrame has no order of its own", hint="name the column that orders rows: order='time'")
    pipeline = program_of(pipeline)
    choice = choose(pipeline, backend)
    return lay_out(dataframe, pipeline, Layout(key, orders)).run(choice)


def lay_out(frame: DataFrame, program: Ported, layout: Layout) -> KeyLog:
    """Select the columns of a layout from a DataFrame.

    Raises
    ------
    InputError: a column is missing, or its type does not fit its use.
    """
    types = dict(frame.dtypes)
    for name in (layout.key, *layout.orders):
        require_column(name, types, "column")
    refuse_key(layout.key, types[layout.key])
    orders = (order_column(frame, name, types[name]) for name in layout.orders)
    columns = [frame[f"`{layout.key}`"].alias("key"), *(column.alias(f"o{i}") for i, column in enumerate(orders))]
    return KeyLog(frame.select(*columns, *input_columns(program, frame)), layout, types[layout.key])


def require_column(name: str, columns: Sequence[str] | dict[str, str], what: str) -> None:
    """Raise InputError, with a suggestion, where a column is missing."""
    if name not in columns:
        raise InputError(f"the log has no {what} '{name}'", hint=did_you_mean(name, list(columns)))


def refuse_key(name: str, kind_of: str) -> None:
    """Refuse a key column of floats, which are rarely equal, or of values that are not scalars."""
    if kind_of.startswith((*FLOATS, "struct", "array", "map", "variant")):
        raise InputError(
            f"the key '{name}' is of type {kind_of}, which cannot separate streams", hint="cast it to string"
        )


def order_column(frame: DataFrame, name: str, kind_of: str) -> Column:
    """Cast a column to a type that Spark and workers order in the same way: integers, floats or texts.

    Raises
    ------
    InputError: values of its type cannot order rows.
    """
    from pyspark.sql import functions as F

    column = frame[f"`{name}`"]
    if kind_of not in ORDERED:
        raise InputError(
            f"column '{name}' is of type {kind_of}, which cannot order rows", hint=f"use one of {', '.join(ORDERED)}"
        )
    if kind_of.startswith("timestamp"):
        return F.unix_micros(column.cast("timestamp"))
    if kind_of == "date":
        return F.unix_date(column)
    return column.cast("long") if kind_of in WHOLE else column.cast("double") if kind_of in FLOATS else column


def input_columns(program: Ported, frame: DataFrame) -> list[Column]:
    """Cast the columns of the inputs to the types of `columns`; InputError if one is missing, or of another type."""
    types = dict(frame.dtypes)
    columns = []
    for i, (name, domain) in enumerate(program.ports.domains.items()):
        require_column(name, types, "column for input")
        columns.append(_input(frame[f"`{name}`"], name, types[name], domain).alias(f"x{i}"))
    return columns


def _input(column: Any, name: str, type: str, domain: Domain) -> Any:
    from pyspark.sql import functions as F

    spark_type = kind(domain)
    fitting = {"long": WHOLE, "double": (*WHOLE, *FLOATS), "boolean": ("boolean",), "string": ("string",)}[spark_type]
    if type in fitting:
        return column.cast(spark_type)
    if spark_type == "string" and type.startswith(("struct<", "array<", "map<")):
        return F.to_json(column, {"ignoreNullFields": "false"})
    raise InputError(
        f"column '{name}' is of type {type}, and input '{name}' carries {domain}",
        hint=f"cast it: withColumn('{name}', col('{name}').cast('{spark_type}'))",
    )
