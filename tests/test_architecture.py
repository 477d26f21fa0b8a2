"""The house rules that a machine can check: who may import whom, and what importing costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hcssp

PACKAGE = Path(hcssp.__file__).parent

# From top to bottom; a module may import from its own layer and from those below.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("hcssp", "hcssp.extend"),  # they re-export from everywhere
    ("hcssp.__main__", "hcssp.cli"),
    ("hcssp.comparison",),
    ("hcssp.reports",),
    ("hcssp.files",),
    ("hcssp.exchange",),
    ("hcssp.scenarios",),
    ("hcssp.solving",),
    ("hcssp.methods",),
    ("hcssp.contract",),
    ("hcssp.proofs",),
    ("hcssp.dual",),
    ("hcssp.ssp",),
    ("hcssp.execution",),
    ("hcssp.evaluation",),
    ("hcssp.checker",),
    ("hcssp.heuristics",),
    ("hcssp.procedure",),
    ("hcssp.cssp",),
    ("hcssp.workers",),
    (
        "hcssp.deadline",
        "hcssp.errors",
        "hcssp.frames",
        "hcssp.lazy",
        "hcssp.numerics",
        "hcssp.parallel",
        "hcssp.start",
        "hcssp.threads",
        "hcssp.version",
    ),
)
# Modules of records whose methods call what lies above them, such as plan.save(). They import it inside the
# method, or for type checkers, never when they are imported themselves.
WITH_METHODS_ABOVE = {
    "hcssp.contract.plan",
    "hcssp.cssp.model",
    "hcssp.execution.run",
    "hcssp.procedure.model",
    "hcssp.solving.sweep",
    "hcssp.solving.sweep_maker",
    "hcssp.solving.sweep_record",
    "hcssp.solving.trade_off",
    "hcssp.solving.why",
}

DEPTH = {prefix: depth for depth, prefixes in enumerate(LAYERS) for prefix in prefixes}

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
            # "from hcssp.contract import stop" imports a module, "from hcssp.contract.stop import Gap" not.
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
        ("hcssp.cssp.model", "import hcssp.ssp.region"),
        ("hcssp.cssp.policy", "def later():\n    from hcssp.reports import notebook"),
        ("hcssp.cssp.model", "from hcssp import CSSP"),
        ("hcssp.cssp.model", "from ..ssp import region"),
        ("hcssp.ssp.region", "def later():\n    from hcssp.methods import best_first"),
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
        ("hcssp.cssp.model", "def later():\n    from hcssp.reports import notebook"),
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
    "hcssp.cssp.decimals",
    "hcssp.cssp.model",
    "hcssp.cssp.spans",
    "hcssp.errors",
    "hcssp.numerics",
    "hcssp.procedure.flattening",
    "hcssp.procedure.limits",
    "hcssp.procedure.model",
    "hcssp.procedure.nesting",
    "hcssp.procedure.single",
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


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        hcssp.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'Oracle'; it is hcssp\.extend\.Oracle$"):
        hcssp.Oracle  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'DeadEnd'; it is hcssp\.errors\.DeadEnd$"):
        hcssp.DeadEnd  # noqa: B018
