"""Tables for pandas, which is imported when the first one is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hcssp.errors import MissingDependency

if TYPE_CHECKING:
    from pandas import DataFrame


def frame(columns: Mapping[str, Any], index: str | None = None) -> DataFrame:
    """A ``pandas.DataFrame`` of these columns.

    Parameters
    ----------
    columns
        From names to lists or arrays of values, all equally many.
    index
        The column that names the rows, if one does.

    Raises
    ------
    MissingDependency
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "tables need pandas, which is not installed; pip install 'hcssp[notebook]'"
        ) from error
    made = pd.DataFrame(dict(columns))
    return made if index is None else made.set_index(index)
