"""The README's Python blocks run, and print what the text block after each one says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```\n\s*```text\n(?P<output>.*?)```", re.DOTALL)


def test_the_examples_print_what_the_readme_says() -> None:
    text = README.read_text(encoding="utf-8")
    examples = list(EXAMPLE.finditer(text))
    assert len(examples) == text.count("```python") > 0, "a Python block needs a text block with its output"
    namespace: dict[str, object] = {"__name__": "readme"}
    for example in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example["code"], str(README), "exec"), namespace)
        assert printed.getvalue() == example["output"]
