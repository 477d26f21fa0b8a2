"""Problems of other tools: read from their languages and formats, and written for them.

Each tool is an extra, imported only by what needs it (:mod:`hcssp.exchange.extras`).
"""

from __future__ import annotations
