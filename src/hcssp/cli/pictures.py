"""Whether a picture can be drawn and written, found out before the work and not after."""

from __future__ import annotations

from pathlib import Path

from hcssp.cli.arguments import UsageError


def check_picture(option: str, path: Path) -> None:
    """Check that matplotlib is there and can write such a file.

    Parameters
    ----------
    option
        The option that names the file.
    path
        The file.

    Raises
    ------
    UsageError, CannotWrite, MissingDependency
        If it cannot.
    """
    from hcssp.files.atomic import check_writable
    from hcssp.reports.pictures import picture_formats

    formats = picture_formats()
    if path.suffix.lstrip(".").lower() not in formats:
        known = ", ".join(f".{each}" for each in formats)
        raise UsageError(
            f"{option} {path}: matplotlib cannot write {path.suffix or 'no suffix'}; use one of {known}"
        )
    check_writable(path)
