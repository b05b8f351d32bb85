"""Counts that the shape of the project rests on: printed, and kept. Run by ``make lint``."""

import ast
import sys
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "whatfor"
#: Sources of beliefs: only beliefs/ and deep/ may ask which one they have.
SOURCES = {"Audit", "BeliefMap", "BeliefNetwork", "ExactBeliefs", "SimulatedBeliefs"}
COMPILED = {"compiled", "inlined"}
MAX_FILE, MAX_RUNS, MAX_PARAMETERS, MAX_WIDE = 350, 250, 7, 12


def main() -> int:
    """Print every count beside its limit; 1 if one is over."""
    trees = {path.relative_to(SOURCE): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}
    lengths = {path.relative_to(SOURCE): len(path.read_text().splitlines()) for path in _sources()}
    asking = [
        place for path, tree in trees.items() if path.parts[0] not in ("beliefs", "deep") for place in _asks(path, tree)
    ]
    wide = [place for path, tree in trees.items() for place in _wide(path, tree)]
    counts = [
        ("isinstance of a source outside beliefs/ and deep/", asking, 0),
        (f"source files over {MAX_FILE} lines", [f"{path}: {n}" for path, n in lengths.items() if n > MAX_FILE], 0),
        (f"lines of runs.py over {MAX_RUNS}", ["x"] * max(0, lengths[Path("runs.py")] - MAX_RUNS), 0),
        (f"functions with more than {MAX_PARAMETERS} parameters, outside compiled code", wide, MAX_WIDE),
        ("class names used twice", _homonyms(trees), 0),
    ]
    for name, found, limit in counts:
        print(f"{len(found):4} (at most {limit:2})  {name}")
    over = [(name, found) for name, found, limit in counts if len(found) > limit]
    for name, found in over:
        print(f"too many: {name}:", *found, sep="\n  ")
    return 1 if over else 0


def _sources() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*")) if path.suffix in (".py", ".js")]


def _asks(path: Path, tree: ast.Module) -> list[str]:
    """Calls of isinstance that name a source."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"]
    named = [(call, {ast.unparse(node).split(".")[-1] for node in ast.walk(call.args[1])}) for call in calls]
    return [f"{path}:{call.lineno}" for call, names in named if names & SOURCES]


def _wide(path: Path, tree: ast.Module) -> list[str]:
    """Functions that take many parameters."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        given = node.args
        names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        taken = len([name for name in names if name not in ("self", "cls")])
        decorators = {ast.unparse(one).split("(")[0].split(".")[-1] for one in node.decorator_list}
        if taken > MAX_PARAMETERS and not decorators & COMPILED and path.parts[0] != "kernels":
            found.append(f"{path}:{node.lineno} {node.name} takes {taken}")
    return found


def _homonyms(trees: dict[Path, ast.Module]) -> list[str]:
    places = defaultdict(list)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path))
    return [f"{name}: {', '.join(where)}" for name, where in places.items() if len(where) > 1]


if __name__ == "__main__":
    sys.exit(main())
