"""Counts that the shape of the project rests on: printed, and kept. Run by ``make lint``."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "whatfor"
#: Every source of beliefs, and every quality of one, is a subclass of these classes, and only these packages may ask which one they have.
BASES, OWNERS = {"Beliefs", "Quality"}, ("beliefs", "deep")
#: What a source is called where one is used.
SOURCE_NAMES = ("audit", "beliefs", "source")
LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
COMPILED = {"compiled", "inlined"}
#: Public functions that may have more than ``MAX_PUBLIC_PARAMETERS``: training, recording, and the command line's own train.
MANY_PARAMETERS = {"trainer.py train", "ledger/ledger.py record", "cli.py train"}
MAX_FILE, MAX_RUNS, MAX_PARAMETERS, MAX_WIDE, MAX_PUBLIC_PARAMETERS = 350, 250, 7, 12, 8
#: Steps are played by two loops, that of training and that of policies, each with a compiled twin.
MAX_STEP_LOOPS = 4
#: Who acts, who plays, and how far beliefs can be trusted, are objects with methods: nothing outside their packages asks which one it has.
POLYMORPHIC = ("agent", "actor", "player", "trust")
#: Here, an agent is that of a learner, built in or custom.
LEARNING = ("training", "learners", "testing.py")

Trees = dict[Path, ast.Module]


def main(root: Path = SOURCE) -> int:
    """Print every count beside its limit; 1 if one is over."""
    texts = {
        path.relative_to(root): path.read_text() for path in sorted(root.rglob("*")) if path.suffix in (".py", ".js")
    }
    lengths = {path: len(text.splitlines()) for path, text in texts.items()}
    trees = {path: ast.parse(text) for path, text in texts.items() if path.suffix == ".py"}
    outside = {path: tree for path, tree in trees.items() if path.parts[0] not in OWNERS}
    askers = {path: tree for path, tree in outside.items() if path.parts[0] not in LEARNING}
    counts = [
        ("questions of a source's class outside beliefs/ and deep/", class_questions(outside, sources(trees)), 0),
        ("searches for an attribute of a source there", attribute_questions(outside), 0),
        ("reads of a source's capabilities there", attributes(outside, "can"), 0),
        ("questions of what an agent, a player or trust is there", kind_questions(askers, POLYMORPHIC), 0),
        (f"source files over {MAX_FILE} lines", [f"{path}: {n}" for path, n in lengths.items() if n > MAX_FILE], 0),
        (f"lines of runs.py over {MAX_RUNS}", ["x"] * max(0, lengths.get(Path("runs.py"), 0) - MAX_RUNS), 0),
        (f"functions with more than {MAX_PARAMETERS} parameters, outside compiled code", wide(trees), MAX_WIDE),
        (f"public ones with more than {MAX_PUBLIC_PARAMETERS}, besides train and record", wide_public(trees), 0),
        ("loops that step a world or an environment", step_loops(trees), MAX_STEP_LOOPS),
        ("names of classes or types used twice", homonyms(trees), 0),
    ]
    for name, found, limit in counts:
        print(f"{len(found):4} (at most {limit:2})  {name}")
    over = [(name, found) for name, found, limit in counts if len(found) > limit]
    for name, found in over:
        print(f"too many: {name}:", *found, sep="\n  ")
    return 1 if over else 0


def sources(trees: Trees) -> set[str]:
    """The names of the classes that derive from ``BASES``, directly or not."""
    found, before = {*BASES}, 0
    while len(found) > before:
        before = len(found)
        for tree in trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and {_last(base) for base in node.bases} & found:
                    found.add(node.name)
    return found - BASES  # whether something is a source at all may be asked


def class_questions(trees: Trees, names: set[str]) -> list[str]:
    """Uses of a source's class, under any name, other than making one, calling its methods, subclassing and annotating.

    What is left asks for the class: isinstance, issubclass, type(x) is, a match, a constant to do so later, or its name as a string.
    """
    found = []
    for path, tree in trees.items():
        known = names | _aliases(tree, names)
        harmless = {id(node) for node in _harmless(tree)}
        for node in ast.walk(tree):
            used = isinstance(node, ast.Name | ast.Attribute) and _last(node) in known
            named = isinstance(node, ast.Constant) and node.value in known
            if (used or named) and id(node) not in harmless:
                found.append(f"{path}:{node.lineno} {_last(node) if used else node.value}")
    return found


def _aliases(tree: ast.Module, names: set[str]) -> set[str]:
    """Other names under which a module imports some names."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {one.asname for node in imports for one in node.names if one.name in names and one.asname}


def _harmless(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes that do not ask for a class: what is called, bases, annotations, ``__all__`` and a table of lazy imports."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.Call):
            yield node.func
            if isinstance(node.func, ast.Attribute):  # a method of the class
                yield node.func.value
        elif isinstance(node, ast.ClassDef):
            parts = [*node.bases]
        elif isinstance(node, ast.arg | ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts = [node.returns]
        elif isinstance(node, ast.Assign) and _last(node.targets[0]) in ("__all__", "_MODULES"):
            parts = [node.value]
        for part in parts:
            if part is not None:
                yield from ast.walk(part)


def attributes(trees: Trees, name: str) -> list[str]:
    """Reads of an attribute."""
    return [
        f"{path}:{node.lineno}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
    ]


def attribute_questions(trees: Trees) -> list[str]:
    """``hasattr``, and ``getattr`` with a default, of a source."""
    return [
        f"{path}:{node.lineno}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (_last(node.func), len(node.args)) in (("hasattr", 2), ("getattr", 3))
        and _last(node.args[0]).strip("_") in SOURCE_NAMES
    ]


def kind_questions(trees: Trees, names: tuple[str, ...]) -> list[str]:
    """Questions of what something so named is: compared, tested as a condition, or its class asked for; ``_agent`` counts as ``agent``."""
    found = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if any(_last(one).strip("_") in names for one in _asked(node)):
                found.append(f"{path}:{node.lineno}")
    return found


def _asked(node: ast.AST) -> list[ast.AST]:
    """What a node asks about: one thing or several."""
    match node:
        case ast.Compare(left, ops, comparators) if any(isinstance(op, ast.Is | ast.IsNot) for op in ops):
            return [left, *comparators]
        case ast.Compare(left, _, comparators) if any(_is_none(side) for side in (left, *comparators)):
            return [left, *comparators]
        case ast.If(test) | ast.IfExp(test) | ast.While(test) | ast.Assert(test) | ast.UnaryOp(ast.Not(), test):
            return [test]
        case ast.BoolOp(_, values):
            return [*values]
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return [test for one in node.generators for test in one.ifs]
        case ast.NamedExpr(_, value) | ast.Match(value):
            return [value]
        case ast.Call(ast.Name("bool" | "type" | "isinstance" | "hasattr" | "getattr"), [first, *_]):
            return [first]
    return []


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def wide(trees: Trees) -> list[str]:
    """Functions that take many parameters."""
    return [f"{place} takes {n}" for place, _, n in _functions(trees) if n > MAX_PARAMETERS]


def wide_public(trees: Trees) -> list[str]:
    """Public functions that take too many, other than those that may."""
    return [
        f"{place} takes {n}"
        for place, name, n in _functions(trees)
        if n > MAX_PUBLIC_PARAMETERS and not name.split()[-1].startswith("_") and name not in MANY_PARAMETERS
    ]


def _functions(trees: Trees) -> Iterator[tuple[str, str, int]]:
    """The place, name and number of parameters of every function outside compiled code; ``*args`` and ``**kwargs`` count."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or path.parts[0] == "kernels":
                continue
            given = node.args
            named = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            taken = [name for name in named if name not in ("self", "cls")]
            taken += [one.arg for one in (given.vararg, given.kwarg) if one is not None]
            decorators = {ast.unparse(one).split("(")[0].split(".")[-1] for one in node.decorator_list}
            if not decorators & COMPILED:
                yield f"{path}:{node.lineno} {node.name}", f"{path.as_posix()} {node.name}", len(taken)


def step_loops(trees: Trees) -> list[str]:
    """The innermost loops and comprehensions that call something named ``step``."""
    found = []
    for path, tree in trees.items():
        around = {id(node): loop for loop in ast.walk(tree) if isinstance(loop, LOOPS) for node in ast.walk(loop)}
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _last(node.func) == "step")
        found += [f"{path}:{line}" for line in sorted({around[id(one)].lineno for one in calls if id(one) in around})]
    return found


def homonyms(trees: Trees) -> list[str]:
    """Names of several classes or types; a leading underscore makes no other name."""
    places = defaultdict(list)
    for path, tree in trees.items():
        for name in _types(tree):
            places[name.strip("_")].append(str(path))
    return [f"{name}: {', '.join(where)}" for name, where in places.items() if len(where) > 1]


def _types(tree: ast.Module) -> Iterator[str]:
    """The classes of a module, and the types that it gives a name: assigned to a name like ``Bounds``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            if re.fullmatch(r"_?[A-Z]\w*[a-z]\w*", _last(target)):
                yield _last(target)


def _last(node: ast.AST) -> str:
    """The last part of a dotted name; empty: it is none."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


if __name__ == "__main__":
    sys.exit(main())
