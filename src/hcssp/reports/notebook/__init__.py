"""Problems, plans and curves as fragments of HTML, for notebooks; no script, no network, nothing to install.

Each fragment brings its own style, which reaches nothing outside of it, and has no ids: any number of them
may stand on one page. What would be too large to look at is left out, and the fragment says so.
"""

from __future__ import annotations

from hcssp.reports.notebook.fragments import curve_html, plan_html, problem_html

__all__ = ["curve_html", "plan_html", "problem_html"]
