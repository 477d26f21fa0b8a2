"""The house rules that a machine can check: who may import whom, and what importing costs."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import hcssp

PACKAGE = Path(hcssp.__file__).parent

# From top to bottom; a module may import from its own layer and from those below.
LAYERS: dict[str, tuple[str, ...]] = {
    "interfaces": ("hcssp", "hcssp.extend", "hcssp.__main__", "hcssp.cli", "hcssp.comparison", "hcssp.serve"),
    "analysis, files and reports": (
        "hcssp.exchange",
        "hcssp.files",
        "hcssp.reports",
        "hcssp.scenarios",
        "hcssp.solving",
    ),
    "search": ("hcssp.contract", "hcssp.execution", "hcssp.methods"),
    "dual and proofs": ("hcssp.dual", "hcssp.proofs", "hcssp.ssp"),
    "model and evaluation": (
        "hcssp.checker",
        "hcssp.cssp",
        "hcssp.evaluation",
        "hcssp.heuristics",
        "hcssp.procedure",
    ),
    "foundations": (
        "hcssp.deadline",
        "hcssp.display",
        "hcssp.errors",
        "hcssp.lazy",
        "hcssp.numerics",
        "hcssp.parameters",
        "hcssp.start",
        "hcssp.threads",
        "hcssp.version",
        "hcssp.workers",
    ),
}
# Records whose methods call the layers above, such as plan.save(). They import these inside the method,
# or for type checkers, never when they are imported themselves.
WITH_METHODS_ABOVE = {
    "hcssp.contract.plan",
    "hcssp.contract.progress",
    "hcssp.cssp.model",
    "hcssp.display",
    "hcssp.execution",
    "hcssp.procedure.model",
}

DEPTH = {prefix: depth for depth, prefixes in enumerate(LAYERS.values()) for prefix in prefixes}

LAZY = ("distributed", "highspy", "matplotlib", "networkx", "pandas", "yaml", "scipy.optimize")


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ("hcssp", *path.relative_to(PACKAGE).with_suffix("").parts)
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = dict(modules())


def depth_of(module: str) -> int:
    """How far down `module` lies; only the package itself falls under the bare name ``hcssp``."""
    if module == "hcssp":
        return DEPTH["hcssp"]
    prefix = module
    while prefix != "hcssp":
        if prefix in DEPTH:
            return DEPTH[prefix]
        prefix = prefix.rpartition(".")[0]
    raise LookupError(f"{module} has no layer; give it one in LAYERS of {Path(__file__).name}")


def imported_modules(
    module: str, source: str, is_package: bool, at_once: bool = False
) -> Iterator[tuple[int, str]]:
    """Line and name of every module of this package that `source` imports, or only of those `at_once`."""
    tree = ast.parse(source)
    for node in tree.body if at_once else ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")
                above = above[: len(above) - node.level + is_package]
                base = ".".join([*above, base] if base else above)
            # "from hcssp.contract import progress" imports a module, "... progress import Gap" does not.
            names = [
                f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base for alias in node.names
            ]
        else:
            continue
        for name in names:
            if name == "hcssp" or name.startswith("hcssp."):
                yield node.lineno, name


def upward_imports(module: str, source: str, is_package: bool = False) -> list[str]:
    return [
        f"{module}, line {line}: imports {target}, which lies above it"
        for line, target in imported_modules(module, source, is_package, module in WITH_METHODS_ABOVE)
        if depth_of(target) < depth_of(module)
    ]


def test_imports_point_downwards() -> None:
    found = []
    for module, path in MODULES.items():
        found += upward_imports(module, path.read_text(encoding="utf-8"), path.name == "__init__.py")
    assert found == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("hcssp.errors", "from hcssp.cssp.model import CSSP"),
        ("hcssp.cssp.model", "import hcssp.ssp.scalar_problem"),
        ("hcssp.cssp.policy", "def later():\n    from hcssp.reports import card"),
        ("hcssp.cssp.model", "from hcssp import CSSP"),
        ("hcssp.cssp.model", "from ..ssp import region"),
        ("hcssp.ssp.scalar_problem", "def later():\n    from hcssp.methods import best_first"),
        ("hcssp.evaluation.exact", "from hcssp.contract.plan import Plan"),
        ("hcssp.dual.ascent", "from hcssp.methods.best_first import search"),
    ],
)
def test_an_upward_import_is_found(module: str, source: str) -> None:
    assert len(upward_imports(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("hcssp.cssp.model", "from hcssp.errors import InvalidProblem"),
        ("hcssp.cssp.model", "from . import policy"),
        ("hcssp.cssp.model", "def later():\n    from hcssp.reports import card"),
        ("hcssp.methods.anytime", "from hcssp.contract.progress import Progress"),
        ("hcssp.methods.anytime", "from hcssp.contract import progress"),
        ("hcssp.cli.main", "import numpy, hcssp.errors"),
    ],
)
def test_a_downward_import_is_let_pass(module: str, source: str) -> None:
    assert upward_imports(module, source) == []


def test_a_module_without_a_layer_is_refused() -> None:
    with pytest.raises(LookupError, match=r"hcssp\.misc has no layer"):
        depth_of("hcssp.misc")


def test_no_module_is_a_drawer_for_everything() -> None:
    drawers = {"util", "utils", "helpers", "common", "misc"}
    assert [module for module in MODULES if drawers & set(module.split("."))] == []


# What the checker of proofs may use besides itself: the problem, its layout, and what is said of both.
TRUSTED = {
    "hcssp.cssp.arrays",
    "hcssp.cssp.model",
    "hcssp.errors",
    "hcssp.numerics",
    "hcssp.procedure.flattening",
    "hcssp.procedure.model",
    "hcssp.procedure.nesting",
}
FOREIGN = {
    "__future__",
    "collections",
    "dataclasses",
    "fractions",
    "functools",
    "itertools",
    "math",
    "numbers",
    "numpy",
    "typing",
}


def foreign_imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from (name.partition(".")[0] for name in names)


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("hcssp.checker")])
def test_the_checker_takes_no_solver_s_word(module: str) -> None:
    source = MODULES[module].read_text(encoding="utf-8")
    used = [name for _, name in imported_modules(module, source, MODULES[module].name == "__init__.py")]
    assert {name for name in used if not name.startswith("hcssp.checker")} <= TRUSTED
    assert set(foreign_imports(source)) - FOREIGN <= {"hcssp"}


def test_the_checker_can_be_read_in_an_hour() -> None:
    paths = [path for module, path in MODULES.items() if module.startswith("hcssp.checker")]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths) <= 700


def test_every_folder_is_a_package() -> None:
    # Without it, pytest imports the modules of a folder a second time under another name.
    assert {path.parent for path in MODULES.values() if not (path.parent / "__init__.py").exists()} == set()


def test_importing_the_package_is_light() -> None:
    code = f"import hcssp, sys; print([name for name in {LAZY} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


UNUSED_TO_SOLVE = {
    *("multiprocessing", "scipy.optimize", "highspy", "matplotlib", "pandas", "hcssp.cssp.expansion"),
    *("numpy.f2py.f2py2e", "numpy.ma.core", "numpy.testing._private.utils", "hcssp.exchange.models"),
}
"""What a command that solves a built-in procedure does not need; together slower than the search."""


def test_solving_a_procedure_imports_little_else() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "hcssp", "solve", "small-building", "--quiet"]
    answer = subprocess.run([*command, "--gap", "0.1"], capture_output=True, text=True, check=True)
    imported = {
        line.rpartition("|")[2].strip() for line in answer.stderr.splitlines() if line.startswith("import")
    }
    assert imported & UNUSED_TO_SOLVE == set()
    packages = {module for module in MODULES if MODULES[module].name == "__init__.py"}
    assert 20 < len((imported & set(MODULES)) - packages) < 100


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        hcssp.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'Oracle'; it is hcssp\.extend\.Oracle$"):
        hcssp.Oracle  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'DeadEnd'; it is hcssp\.errors\.DeadEnd$"):
        hcssp.DeadEnd  # noqa: B018


CORE = ("cssp", "dual", "methods", "procedure", "proofs", "solving", "ssp")
MAX_CODE_LINES, MAX_CONSTANTS, MAX_FILES = 19_500, 70, 214


def code_lines(path: Path) -> int:
    """The lines of a file that are neither blank nor comments nor docstrings."""
    text = path.read_text(encoding="utf-8")
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.end_lineno:
            documented.update(range(node.lineno, node.end_lineno + 1))
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*blank, tokenize.ENDMARKER):
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - documented)


def is_number(value: ast.expr | None) -> bool:
    match value:
        case ast.Constant(value=constant):
            return isinstance(constant, int | float) and not isinstance(constant, bool)
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
    return False


def constants(path: Path) -> int:
    """The numeric constants that a module defines."""
    found = 0
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Tuple()], value=ast.Tuple(elts=values)):
                found += sum(map(is_number, values))
            case ast.Assign(value=value) | ast.AnnAssign(value=value):
                found += is_number(value)
    return found


def test_the_package_stays_small() -> None:
    """Size is a cost: whoever raises a limit says why in the commit."""
    paths = [path for folder in CORE for path in (PACKAGE / folder).rglob("*.py")]
    assert sum(map(code_lines, paths)) <= MAX_CODE_LINES
    assert sum(map(constants, paths)) <= MAX_CONSTANTS
    assert len(MODULES) <= MAX_FILES


def test_sizes_are_counted(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        '"""A module."""\n\nONE, TWO = 1, 2.0\n# A comment.\nTHREE = -3\nFLAG, NAME = True, "n"\n'
    )
    assert (code_lines(module), constants(module)) == (3, 3)
