"""Methods and other tools on the same problems: measured in fresh processes, reported on one page.

:mod:`~hcssp.comparison.suite` has the problems, :mod:`~hcssp.comparison.solvers` our methods and the peers,
:mod:`~hcssp.comparison.measuring` measures, and :mod:`~hcssp.comparison.page` compares the answers.
"""

from __future__ import annotations
