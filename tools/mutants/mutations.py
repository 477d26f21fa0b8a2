r"""All the small mistakes that can be planted in a file: another comparison, another sign, a dropped guard.

>>> source = "def least(values, limit):\n    return min(values) <= limit + 1"
>>> for mutation in mutations(source):
...     print(mutation)
least, line 2: min(values) <= limit + 1 -> min(values) < limit + 1
least, line 2: min(values) <= limit + 1 -> min(values) > limit + 1
least, line 2: min -> max
least, line 2: limit + 1 -> limit - 1
least, line 2: 1 -> 2
>>> print(mutated(source, 3))
def least(values, limit):
    return min(values) <= limit - 1

Nothing is planted in annotations, docstrings, error messages and log messages, nor where the code checks
itself: in assertions, and in the ``strict`` of a zip. Limits of effort, which are called ``MAX_...``, are not
missed by one, nor is one forgotten: that changes how long something takes. They are still compared the wrong
way round. A number of roundings is not missed by one, for one more does no harm and there are some to spare;
what they may lose is forgotten altogether instead.

>>> for mutation in mutations("ROOM = 1.0 - 4.0 * ROUNDINGS"):
...     print(mutation)
ROOM, line 1: 1.0 - 4.0 * ROUNDINGS -> 1.0 + 4.0 * ROUNDINGS
ROOM, line 1: 1.0 -> 2.0
ROOM, line 1: 4.0 * ROUNDINGS -> 4.0 / ROUNDINGS
ROOM, line 1: ROUNDINGS -> 0.0
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
"""Its neighbour, and its opposite."""

_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}

_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}

_METHODS = _FUNCTIONS | {
    "minimum": "maximum",
    "maximum": "minimum",
    "floor": "ceil",
    "ceil": "floor",
    "argmin": "argmax",
    "argmax": "argmin",
}

_ROUNDINGS = frozenset({"ROUNDING", "ROUNDINGS", "UNIT_ROUNDOFF", "_LONG_ROUNDING"})
"""What one rounding may lose: a factor beside it is a number of them."""

TINY = 1e-3
"""A constant below this is a tolerance: it is made a thousand times larger, and zero."""


@dataclass(frozen=True)
class Mutation:
    """A mistake that can be planted.

    Attributes
    ----------
    index
        Which of the file's mistakes it is.
    function, line
        Where.
    before, after
        The code, and the mistake.
    occurrence
        Which it is of those of the function that read the same.
    """

    index: int
    function: str
    line: int
    before: str
    after: str
    occurrence: int = 1

    @property
    def key(self) -> str:
        """What it is called as long as the function stays as it is, wherever its lines move."""
        return f"{self.function}: {self.before} -> {self.after}"

    @property
    def own_key(self) -> str:
        """What tells it from others of the function that read the same."""
        return f"{self.key} #{self.occurrence}"

    def __str__(self) -> str:
        return f"{self.function}, line {self.line}: {self.before} -> {self.after}"


def mutations(source: str) -> list[Mutation]:
    """All mistakes that can be planted in `source`."""
    planter = _Planter()
    planter.visit(ast.parse(source))
    return planter.found


def mutated(source: str, index: int) -> str:
    """The code with one of its mistakes planted."""
    return ast.unparse(mutated_tree(source, index))


def mutated_tree(source: str, index: int) -> ast.Module:
    """The code with one of its mistakes planted, parsed, all lines where they were."""
    planter = _Planter(index)
    tree = ast.parse(source)
    planter.visit(tree)
    if index >= len(planter.found):
        raise IndexError(f"there are {len(planter.found)} mistakes, and none is number {index}")
    return ast.fix_missing_locations(tree)


class _Planter(ast.NodeTransformer):
    """Goes through a file, counts mistakes, and makes one of them."""

    def __init__(self, wanted: int | None = None) -> None:
        self.found: list[Mutation] = []
        self._wanted = wanted
        self._names: list[str] = []
        self._counting = False
        self._seen: Counter[str] = Counter()

    def visit(self, node: ast.AST) -> ast.AST:
        if _is_left_alone(node) or (self._counting and isinstance(node, ast.Constant)):
            return node
        for after in _mistakes(node):
            index = len(self.found)
            where = ".".join(self._names) or "module"
            found = Mutation(index, where, getattr(node, "lineno", 0), _text(node), _text(after))
            self._seen[found.key] += 1
            self.found.append(replace(found, occurrence=self._seen[found.key]))
            if index == self._wanted:
                return ast.copy_location(after, node)
        name = self._name_of(node)
        self._names += name
        for field in _fields(node):
            self._visit_field(node, field)
        del self._names[len(self._names) - len(name) :]
        return node

    def _name_of(self, node: ast.AST) -> list[str]:
        """What a function, a class or a constant of the file is called."""
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            return [node.name]
        if isinstance(node, ast.Assign) and not self._names:
            return [", ".join(ast.unparse(target) for target in node.targets).strip("()")]
        return []

    def _visit_field(self, node: ast.AST, field: str) -> None:
        value = getattr(node, field)
        if isinstance(value, list):
            setattr(node, field, [self.visit(each) if isinstance(each, ast.AST) else each for each in value])
        elif isinstance(value, ast.AST):
            before, self._counting = self._counting, self._counting or _counts_roundings(node, field)
            setattr(node, field, self.visit(value))
            self._counting = before


def _counts_roundings(node: ast.AST, side: str) -> bool:
    """Whether a side of a product says how often something is rounded."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)):
        return False
    other = {"left": node.right, "right": node.left}.get(side)
    return isinstance(other, ast.Name) and other.id in _ROUNDINGS


def _fields(node: ast.AST) -> list[str]:
    """The parts of a node that are code that runs."""
    skipped = {"annotation", "returns", "type_params", "decorator_list", "bases", "ctx"}
    return [field for field in node._fields if field not in skipped]


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
        return True
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.Assign) and _is_effort(*node.targets):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.unparse(node.value.func).startswith(("logger.", "logging."))
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _mistakes(node: ast.AST) -> Iterator[ast.AST]:
    """What may be written in place of a node by mistake."""
    match node:
        case ast.Compare(ops=[operator]):
            others = _COMPARISONS[type(operator)]
            for other in others[-1:] if _is_effort(node) else others:
                yield _with(node, ops=[other()])
        case ast.BinOp(op=operator) if type(operator) in _OPERATORS and not _is_text(node):
            yield _with(node, op=_OPERATORS[type(operator)]())
        case ast.BoolOp(op=ast.And()):
            yield _with(node, op=ast.Or())
        case ast.BoolOp(op=ast.Or()):
            yield _with(node, op=ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.Invert() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            for other in (float(f"{1000.0 * value:g}"), 0.0) if 0.0 < value < TINY else (value + 1.0,):
                # One more than what is huge is the same number.
                if other != value:
                    yield ast.Constant(other)
        case ast.Name(id=name) if name in _FUNCTIONS:
            yield _with(node, id=_FUNCTIONS[name])
        case ast.Name(id=name, ctx=ast.Load()) if name in _ROUNDINGS:
            yield ast.Constant(0.0)
        case ast.Attribute(attr=name) if name in _METHODS:
            yield _with(node, attr=_METHODS[name])
        case ast.If(orelse=[], body=[*_, ast.Return() | ast.Continue() | ast.Break() | ast.Raise()]):
            if not _is_effort(node.test):
                yield _with(node, test=ast.Constant(False))


def _is_effort(*nodes: ast.AST) -> bool:
    """Whether a limit of effort is what is set, or what is compared with."""
    sides: list[ast.AST] = []
    for node in nodes:
        sides += [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node]
    return any(isinstance(each, ast.Name) and each.id.startswith("MAX_") for each in sides)


def _with(node: ast.AST, **changes: object) -> ast.AST:
    changed = copy.copy(node)
    for field, value in changes.items():
        setattr(changed, field, value)
    return changed


def _is_text(node: ast.BinOp) -> bool:
    """Whether an operator joins strings or types rather than numbers."""
    sides = (node.left, node.right)
    return any(isinstance(each, ast.Constant) and not isinstance(each.value, int | float) for each in sides)


def _text(node: ast.AST) -> str:
    """The code of a node; of a guard, its condition."""
    if isinstance(node, ast.If):
        return f"if {ast.unparse(node.test)}"
    return ast.unparse(node)
