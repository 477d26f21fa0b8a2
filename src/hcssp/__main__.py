"""``python -m hcssp`` is the command ``hcssp``."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; see :func:`hcssp.cli.main`, which is imported only here: that takes a while."""
    from hcssp.cli import main as run

    return run(argv)


if __name__ == "__main__":
    sys.exit(main())
