"""What is optional says what to install."""

from __future__ import annotations

from pathlib import Path

import pytest

from hcssp.errors import MissingDependency
from hcssp.exchange.models import extra


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(MissingDependency, match=r"^reading needs nowhere_to_be, .*'hcssp\[storm\]'$"):
        extra("nowhere_to_be.found", "storm", "reading")


def test_a_package_that_lacks_something_itself_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lacking_package.py").write_text("import nowhere_to_be\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="nowhere_to_be"):
        extra("lacking_package", "storm", "reading")
