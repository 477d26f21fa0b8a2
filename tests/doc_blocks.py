"""The code blocks of Markdown pages, and what running them means.

A page is run from top to bottom in an empty folder of its own:

- ``python`` blocks share one namespace; a ``text`` block right after one shows what it prints;
- in ``console`` blocks, lines that begin with ``$`` are commands (``hcssp ...`` or ``python FILE``), and the
  lines after each show what it prints;
- ``yaml`` and ``json`` blocks are parsed, and loaded if they are whole problems;
- a block with ``title="NAME"`` is written to that file, so that the others can use it.

In shown output, ``...`` stands for anything. A block that must not run has a line ``<!-- not run: why -->``
before it, and is at most written to its file; a command that is meant to fail has ``<!-- exits with: 2 -->``
and shows its message. A page with a line ``<!-- needs: MODULE -->`` is run where that is installed.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hcssp.cli import main
from hcssp.files.problem_file.loading import load_text

_FENCE = re.compile(
    r"(?:^[ ]*<!-- (?P<remark>[^\n]*?) -->\n\s*)?"
    r"^(?P<indent>[ ]*)```(?P<language>\w*)(?P<rest>[^\n]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)
_TITLE = re.compile(r'title="(?P<title>[^"]+)"')
_NOT_RUN = re.compile(r"not run: \S")
_EXIT = re.compile(r"exits with: (?P<code>\d+)")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, what it is, and what stands between it and the one before."""

    line: int
    language: str
    body: str
    title: str | None
    remark: str
    gap: str

    @property
    def is_run(self) -> bool:
        return _NOT_RUN.match(self.remark) is None

    @property
    def exit_code(self) -> int:
        found = _EXIT.match(self.remark)
        return 0 if found is None else int(found["code"])


def blocks(text: str) -> list[Block]:
    """All fenced blocks of a page."""
    found, end = [], 0
    for match in _FENCE.finditer(text):
        indent = len(match["indent"])
        body = "".join(line[indent:] if line.strip() else "\n" for line in match["body"].splitlines(True))
        title = _TITLE.search(match["rest"])
        found.append(
            Block(
                line=text.count("\n", 0, match.start("language")) + 1,
                language=match["language"],
                body=body,
                title=None if title is None else title["title"],
                remark=match["remark"] or "",
                gap=text[end : match.start()].strip(),
            )
        )
        end = match.end()
    return found


class DocError(AssertionError):
    """A page that does not do what it says."""


@dataclass
class PageRun:
    """Runs the blocks of one page in the current folder."""

    name: str
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})

    def run(self, text: str) -> int:
        """Run everything; the number of blocks that were checked."""
        checked = 0
        found = blocks(text)
        # A page may show a file after the one that names it; of several versions the latest so far counts.
        for block in reversed(found):
            write_if_titled(block)
        for index, block in enumerate(found):
            write_if_titled(block)
            if not block.is_run:
                continue
            shown = None
            for following in found[index + 1 : index + 2]:
                if following.language == "text" and not following.gap:
                    shown = following.body
            try:
                checked += self._check(block, shown)
            except DocError:
                raise
            except Exception as error:
                raise DocError(f"{self._place(block)}: {type(error).__name__}: {error}") from error
        return checked

    def end_processes(self) -> None:
        """End what the page started, also where the page stopped at an error."""
        for process in self.namespace.values():
            if isinstance(process, subprocess.Popen):
                process.terminate()
                process.wait()

    def _place(self, block: Block) -> str:
        return f"{self.name}, line {block.line}"

    def _check(self, block: Block, shown: str | None) -> bool:
        if block.language == "python":
            self._python(block, shown)
        elif block.language in ("console", "bash"):
            self._console(block)
        elif block.language == "yaml":
            check_yaml(block.body)
        elif block.language == "json":
            json.loads(block.body)
        else:
            return False
        return True

    def _python(self, block: Block, shown: str | None) -> None:
        # Empty lines in front make line numbers of tracebacks those of the page.
        code = compile("\n" * block.line + block.body, self.name, "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, self.namespace)
        if shown is not None:
            compare(self._place(block), shown, printed.getvalue())

    def _console(self, block: Block) -> None:
        for command, shown in commands(block.body):
            code, out, err = run_command(command)
            place = f"{self._place(block)}: $ {command}"
            if code != block.exit_code:
                raise DocError(f"{place}\nexits with {code}, not {block.exit_code}\n{out}{err}")
            if shown:
                # A page shows the error and not the progress before it.
                error = err[err.find("hcssp: ") :] if code and "hcssp: " in err else ""
                compare(place, shown, out + error)


def write_if_titled(block: Block) -> None:
    """A block with a title is a file."""
    if block.title is not None:
        Path(block.title).write_text(block.body, encoding="utf-8")


def commands(body: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output shown after it."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, shown = part.replace("\\\n", "").partition("\n")
        yield command, shown
    if not body.startswith("$ "):
        raise DocError(f"a console block begins with '$ ', not with {body[:20]!r}")


def run_command(command: str) -> tuple[int, str, str]:
    """Exit code, output and messages of ``hcssp ...`` or ``python FILE``, perhaps with ``> FILE``."""
    words = shlex.split(command, comments=True)
    target: Path | None = None
    if ">" in words:
        target = Path(words[words.index(">") + 1])
        words = words[: words.index(">")]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        if words[0] == "hcssp":
            code = main(words[1:])
        elif words[0] == "python":
            # A process of its own: a script that starts others is found by its path.
            ran = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=False)
            out.write(ran.stdout)
            err.write(ran.stderr)
            code = ran.returncode
        else:
            raise DocError(f"no such command in the tests: {words[0]!r}; mark the block as not run")
    if target is not None:
        target.write_text(out.getvalue(), encoding="utf-8")
        return code, "", err.getvalue()
    return code, out.getvalue(), err.getvalue()


def check_yaml(body: str) -> None:
    """A whole problem is loaded; anything else must at least be YAML."""
    document = yaml.safe_load(body)
    if isinstance(document, dict) and "format" in document:
        load_text(body, folder=Path())


def compare(place: str, shown: str, printed: str) -> None:
    """Whether the page shows what is printed; ``...`` stands for anything."""
    want, got = (
        "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines()) for text in (shown, printed)
    )
    if not doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS):
        raise DocError(f"{place}\nshows:\n{want}\nprints:\n{got}")
