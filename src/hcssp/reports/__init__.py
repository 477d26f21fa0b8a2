"""What people look at: plans in words, tables, pictures, notebooks, and a page that tells all about one."""

from __future__ import annotations

from hcssp.reports.charts import draw_budget, draw_histograms, draw_history
from hcssp.reports.outlook import look_ahead
from hcssp.reports.page import page_html, save_page
from hcssp.reports.page_data import page_data
from hcssp.reports.rooms import draw_rooms

__all__ = [
    "draw_budget",
    "draw_histograms",
    "draw_history",
    "draw_rooms",
    "look_ahead",
    "page_data",
    "page_html",
    "save_page",
]
