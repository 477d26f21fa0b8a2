"""``python -m hcssp`` is the command ``hcssp``."""

from __future__ import annotations

import sys

from hcssp.cli import main

if __name__ == "__main__":
    sys.exit(main())
