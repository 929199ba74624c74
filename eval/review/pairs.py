"""A task's right and wrong solution as marimo notebooks over its data, and the answer as an agent would hand it in.

Functions of the solution become cells: what they return is a variable, what they read stands there for all to see.
"""

from __future__ import annotations

import ast
import builtins
import copy
import importlib
import inspect
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, Literal

from eval.task import Task, read_tasks

Side = Literal["right", "wrong"]
Half = Literal["seen", "held-out", "all"]
SEED: Final = 20261118
_GENERATED: Final = "folder_of_"
"""Three sizes of one task, made for time and not for traps: not among the 46."""
_NAMES: Final = {"idxmax": "best", "idxmin": "least", "max": "most", "mean": "mean", "sum": "total", "median": "median"}
_LIBRARIES: Final = {"pd": "import pandas as pd", "np": "import numpy as np"}
_READERS: Final = {
    ".csv": "pd.read_csv({path})", ".xlsx": "pd.read_excel({path})", ".jsonl": "pd.read_json({path}, lines=True)",
    ".json": "pd.read_json({path})", ".parquet": "pd.read_parquet({path})",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionNotebook:
    """One side of a task as a notebook."""

    task: Task
    side: Side
    cells: tuple[str, ...]
    template: str
    """The answer, with the notebook's variables in braces."""

    @property
    def source(self) -> str:
        """The notebook's file."""
        parts = ["import marimo", "", 'app = marimo.App(width="medium")', ""]
        for code in self.cells:
            body = "\n".join(f"    {line}" if line else "" for line in code.splitlines())
            parts += ["", "@app.cell", "def _():", body, "    return", ""]
        return "\n".join([*parts, "", 'if __name__ == "__main__":', "    app.run()", ""])


def paired_tasks(half: Half = "all", names: Sequence[str] = ()) -> list[Task]:
    """The 46 tasks, one half of them, or those named; the halves are drawn once, by `SEED`."""
    if names:
        return read_tasks(names)
    tasks = [task for task in read_tasks() if not task.id.startswith(_GENERATED)]
    order = [task.id for task in tasks]
    random.Random(SEED).shuffle(order)
    middle = len(order) // 2
    chosen = {"seen": order[:middle], "held-out": order[middle:], "all": order}[half]
    return [task for task in tasks if task.id in chosen]


def drawn_for_reviewer(count: int = 20) -> list[Task]:
    """Pairs for somebody who reviews them: drawn by `SEED` from the half nobody tuned on."""
    tasks = paired_tasks("held-out")
    chosen = random.Random(SEED).sample([task.id for task in tasks], count)
    return [task for task in tasks if task.id in chosen]


def solution_notebook(task: Task, side: Side) -> SolutionNotebook:
    """The notebook of one side. `ValueError` where its source is not of the shape that is understood."""
    module = importlib.import_module(f"eval.tasks.{task.id}.task")
    flat = _Solution.of(_Solution.published(inspect.getsource(module)))
    return flat.notebook(task, side)


@dataclass(slots=True)
class _Solution:
    """The source of a task, while it is turned into cells."""

    functions: dict[str, ast.FunctionDef]
    constants: dict[str, ast.stmt]
    imports: dict[str, str]
    cells: list[str] = field(default_factory=list[str])
    taken: set[str] = field(default_factory=lambda: {"mo", "folder", "answer", *dir(builtins)})
    inlined: dict[str, ast.expr] = field(default_factory=dict[str, ast.expr])
    kept: dict[str, str] = field(default_factory=dict[str, str])
    """Functions that stay functions: their names in the module, and in the notebook."""

    @classmethod
    def of(cls, text: str) -> _Solution:
        functions, constants, imports = dict[str, ast.FunctionDef](), dict[str, ast.stmt](), dict[str, str]()
        for node in ast.parse(text).body:
            match node:
                case ast.FunctionDef(name=name):
                    functions[name] = node
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    constants[name] = node
                case ast.Import(names=names):
                    imports |= {each.asname or each.name: f"import {ast.unparse(each)}" for each in names}
                case ast.ImportFrom(module=str(module), names=names):
                    origin = f"from {module} import"
                    imports |= {each.asname or each.name: f"{origin} {ast.unparse(each)}" for each in names}
                case _:
                    continue
        return cls(functions=functions, constants=constants, imports=imports)

    @staticmethod
    def published(text: str) -> str:
        """The source with constants that marimo would keep inside their cell under names that it does not."""
        names = {
            target.id
            for node in ast.parse(text).body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and target.id.startswith("_")
        }
        tree = _Names({name: ast.Name(name.strip("_"), ast.Load()) for name in names}).visit(ast.parse(text))
        return ast.unparse(tree)

    def notebook(self, task: Task, side: Side) -> SolutionNotebook:
        """All its cells, the answer at the end."""
        returned = self._body(self.functions[side], {"folder": ast.Name("folder", ast.Load())}, is_last=True)
        if not isinstance(returned, ast.Call) or not returned.args:
            raise ValueError(f"{task.id}: {side} does not end in `said(…)`")
        charts = next((each.value for each in returned.keywords if each.arg == "charts"), None)
        statements, template = self._answer(returned.args[0])
        work = [*self.cells, *statements]
        if not any("folder /" in cell for cell in work):
            work = [*(_reading(name, self.taken) for name in task.data), *work]
        if charts is not None:
            work.append(_chart(task))
        helpers = list(self._helpers(work))
        code = "\n".join([*helpers, *work])
        imports = [line for name, line in {**self.imports, **_LIBRARIES}.items() if _uses(code, name)]
        shown = template.replace('"', "'") if "{" in template else template
        return SolutionNotebook(
            task=task,
            side=side,
            cells=(
                "\n".join(dict.fromkeys(["import marimo as mo", *imports])),
                "folder = mo.notebook_dir()",
                *helpers,
                *work,
                f'mo.md(f"{shown}")',
            ),
            template=template,
        )

    # ── functions ──

    def _body(self, function: ast.FunctionDef, bound: Mapping[str, ast.expr], *, is_last: bool = False) -> ast.expr:
        """The statements of a function as a cell; what it returns, as an expression over the notebook's variables."""
        names = {**bound, **{old: self._variable(function, old) for old in _locals(function) if old not in bound}}
        rename = _Rename(self, names)
        statements = [_plain(rename.visit(copy.deepcopy(each))) for each in function.body if not _is_docstring(each)]
        last = statements.pop()
        if not isinstance(last, ast.Return) or last.value is None:
            raise ValueError(f"{function.name} ends without a value")
        value = last.value
        if not is_last and not isinstance(value, ast.Name):
            name = self._free(function.name.strip("_"))
            statements.append(ast.Assign([ast.Name(name, ast.Store())], value, lineno=0))
            value = ast.Name(name, ast.Load())
        if statements:
            self.cells.append("\n".join(ast.unparse(ast.fix_missing_locations(each)) for each in statements))
        return value

    def call(self, call: ast.Call) -> ast.expr | None:
        """A call of one of its functions as the variable that holds what it gives; None: it stays a call."""
        assert isinstance(call.func, ast.Name)
        function = self.functions[call.func.id]
        bound = _bound(function, call)
        if bound is None or not _is_straight(function) or not all(map(_is_fixed, bound.values())):
            return None
        key = ast.dump(ast.Tuple([ast.Name(function.name, ast.Load()), *bound.values()], ast.Load()))
        if key not in self.inlined:
            self.inlined[key] = self._body(function, bound)
        return copy.deepcopy(self.inlined[key])

    def keep(self, name: str) -> str:
        """The name of a function that stays one."""
        if name not in self.kept:
            self.kept[name] = self._free(name.strip("_"))
        return self.kept[name]

    def _helpers(self, work: Sequence[str]) -> Iterator[str]:
        """Functions and constants that the cells use, in the order of need."""
        done, queue = set[str](), list(self.kept)
        texts: list[str] = []
        while queue:
            name = queue.pop()
            if name in done:
                continue
            done.add(name)
            function = copy.deepcopy(self.functions[name])
            function.name = self.keep(name)
            known = {old: ast.Name(self.keep(old), ast.Load()) for old in self.functions}
            used = {each.id for each in ast.walk(function) if isinstance(each, ast.Name)} & set(self.functions)
            queue += sorted(used)
            texts.append(ast.unparse(_Names({old: known[old] for old in used}).visit(function)))
        code = "\n".join([*texts, *work])
        pending = [name for name in self.constants if _uses(code, name)]
        constants: dict[str, str] = {}
        while pending:
            name = pending.pop()
            text = ast.unparse(self.constants[name])
            constants[name] = text
            pending += [other for other in self.constants if other not in constants and _uses(text, other)]
        yield from (constants[name] for name in self.constants if name in constants)
        yield from reversed(texts)

    # ── the answer ──

    def _answer(self, said: ast.expr) -> tuple[list[str], str]:
        """The last cells, and the template."""
        if not isinstance(said, ast.JoinedStr) or not any(isinstance(each, ast.FormattedValue) for each in said.values):
            return [f"answer = {ast.unparse(said)}"], "{answer}"
        lines, template = list[str](), ""
        for part in said.values:
            if isinstance(part, ast.Constant):
                template += str(part.value)
                continue
            assert isinstance(part, ast.FormattedValue)
            value = part.value
            if not isinstance(value, ast.Name):
                name = self._free(_name_for(value))
                lines.append(f"{name} = {ast.unparse(value)}")
                value = ast.Name(name, ast.Load())
            shape = ast.unparse(part.format_spec)[2:-1] if part.format_spec is not None else ""
            template += f"{{{value.id}{f':{shape}' if shape else ''}}}"
        return (["\n".join(lines)] if lines else []), template

    def _variable(self, function: ast.FunctionDef, old: str) -> ast.expr:
        is_passing = old in _passing(function)
        name = f"_{old.strip('_')}" if is_passing else self._free(old.strip("_"))
        return ast.Name(name, ast.Load())

    def _free(self, name: str) -> str:
        candidate, number = name, 1
        while candidate in self.taken or candidate in self.imports:
            number += 1
            candidate = f"{name}_{number}"
        self.taken.add(candidate)
        return candidate


class _Names(ast.NodeTransformer):
    """Names for other names, or for what they stand for."""

    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if (other := self.names.get(node.id)) is None:
            return node
        if isinstance(other, ast.Name):
            return ast.Name(other.id, node.ctx)
        return copy.deepcopy(other)


class _Rename(_Names):
    """The same, with calls of the task's own functions taken apart."""

    def __init__(self, solution: _Solution, names: Mapping[str, ast.expr]) -> None:
        super().__init__(names)
        self.solution = solution

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node.args = [self.visit(each) for each in node.args]
        for each in node.keywords:
            each.value = self.visit(each.value)
        if isinstance(node.func, ast.Name) and node.func.id in self.solution.functions:
            found = self.solution.call(node)
            if found is not None:
                return found
            node.func = ast.Name(self.solution.keep(node.func.id), ast.Load())
            return node
        node.func = self.visit(node.func)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.solution.functions and node.id not in self.names:
            return ast.Name(self.solution.keep(node.id), node.ctx)
        return super().visit_Name(node)


# ── what functions are like ──


def _bound(function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr] | None:
    """Its parameters with what a call gives them; None where that cannot be told."""
    parameters = [each.arg for each in function.args.args]
    if not parameters or parameters[0] != "folder" or any(each.arg is None for each in call.keywords):
        return None
    defaults = function.args.defaults
    bound = dict(zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True))
    for each, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if default is not None:
            bound[each.arg] = default
    bound |= dict(zip(parameters, call.args, strict=False))
    bound |= {each.arg: each.value for each in call.keywords if each.arg}
    wanted = {*parameters, *(each.arg for each in function.args.kwonlyargs)}
    return bound if set(bound) == wanted else None


def _is_fixed(value: ast.expr) -> bool:
    """Whether an argument is a name or a constant: it can stand wherever the parameter stood."""
    return isinstance(value, ast.Name | ast.Constant) or (
        isinstance(value, ast.List | ast.Tuple) and all(isinstance(each, ast.Constant) for each in value.elts)
    )


def _is_straight(function: ast.FunctionDef) -> bool:
    """Whether it returns at its end and nowhere else."""
    returns = [each for each in ast.walk(function) if isinstance(each, ast.Return)]
    return returns == [function.body[-1]]


def _locals(function: ast.FunctionDef) -> list[str]:
    """Names it assigns, those of comprehensions aside."""
    inner = {
        name.id
        for each in ast.walk(function)
        if isinstance(each, ast.comprehension)
        for name in ast.walk(each.target)
        if isinstance(name, ast.Name)
    }
    stored = [each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
    return list(dict.fromkeys(name for name in stored if name not in inner))


def _passing(function: ast.FunctionDef) -> set[str]:
    """Names of loops and of open files: nobody else's business."""
    targets = [each.target for each in ast.walk(function) if isinstance(each, ast.For)]
    targets += [item.optional_vars for each in ast.walk(function) if isinstance(each, ast.With)
                for item in each.items if item.optional_vars is not None]  # fmt: skip
    return {name.id for each in targets for name in ast.walk(each) if isinstance(name, ast.Name)}


def _plain(statement: ast.stmt) -> ast.stmt:
    """Without the annotation."""
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return ast.Assign([statement.target], statement.value, lineno=0)
    return statement


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _uses(code: str, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(ast.parse(code)))


def _name_for(value: ast.expr) -> str:
    calls = [
        each.func.attr
        for each in ast.walk(value)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)
    ]
    return next((_NAMES[name] for name in calls if name in _NAMES), "figure")


# ── cells of solutions that compute nothing ──


def _reading(data: str, taken: set[str]) -> str:
    """A cell that reads a file of the task, as somebody would who looks at it."""
    path = PurePosixPath(data)
    name = path.stem.replace("-", "_")
    name = f"{name}_table" if name in taken else name
    taken.add(name)
    place = f'folder / "{data}"'
    if not path.suffix:
        return f'{name} = pd.concat([pd.read_csv(_path) for _path in sorted(({place}).glob("*.csv"))])'
    if path.suffix == ".duckdb":
        return (
            "import duckdb as _duckdb\n\n"
            f"with _duckdb.connect(str({place}), read_only=True) as _database:\n"
            '    _names = [_row[0] for _row in _database.execute("show tables").fetchall()]\n'
            f'    {name} = {{_name: _database.execute(f"select * from {{_name}}").df() for _name in _names}}'
        )
    if path.suffix in (".db", ".sqlite"):
        return (
            "import sqlite3 as _sqlite3\n\n"
            f"with _sqlite3.connect({place}) as _database:\n"
            "    _listed = _database.execute(\"select name from sqlite_master where type='table'\")\n"
            "    _names = [_row[0] for _row in _listed]\n"
            f'    {name} = {{_name: pd.read_sql(f"select * from {{_name}}", _database) for _name in _names}}'
        )
    return f"{name} = {_READERS.get(path.suffix, 'pd.read_csv({path})').format(path=place)}"


def _chart(task: Task) -> str:
    """A cell that draws the rows of the task's first file."""
    data = task.data[0]
    suffix = PurePosixPath(data).suffix
    read = _READERS.get(suffix, "")
    if not read:
        return 'mo.md("A chart of it.")'
    rows = read.format(path=f'folder / "{data}"')
    return (
        "import altair as _alt\n\n"
        f"_rows = {rows}.head(500)\n"
        "_alt.Chart(_rows).mark_point().encode(x=_alt.X(_rows.columns[-2]), y=_alt.Y(_rows.columns[-1]))"
    )
