"""How methods, and other tools, do on the same problems: measured in fresh processes, told on one page.

:mod:`~hcssp.comparison.suite` says on what, :mod:`~hcssp.comparison.contestants` who, and
:mod:`~hcssp.comparison.measuring` how, one run by :mod:`~hcssp.comparison.apart`;
:mod:`~hcssp.comparison.judgement` compares what they say.
"""

from __future__ import annotations
