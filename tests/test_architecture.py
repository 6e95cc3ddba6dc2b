"""The architecture, read from the syntax trees: imports run one way between floors and rooms, and no files in a circle."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest
from listed import listed_tests

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("learning", "market", "agents", "scenarios", "exchange", "reproduction")
# One line a room, from the ground up: a room imports from itself and from the lines above it, never
# from one below.
ROOMS = (
    "learning.registry",
    "learning.errors",
    "learning.collected_errors",
    "learning.extras",
    "learning.progress",
    "learning.arrays",
    "learning.threads",
    "learning.spool",
    "learning.workers",
    "learning.randomness",
    "learning.declaration",
    "learning.calls",
    "learning.canonical",
    "learning.data",
    "learning.losses",
    "learning.privacy",
    "learning.training",
    "learning.forecast",
    "learning.phrases",
    "learning.money",
    "learning.rounding",
    "learning.cells",
    "learning.table_file",
    "learning.partitions",
    "learning.terminal",
    "learning.display",
    "learning.program",
    "learning.audit",
    "learning",
    "market.columns",
    "market.costs",
    "market.game",
    "market.policies",
    "market.equilibrium",
    "market.analysis",
    "market.procurement",
    "market.competition",
    "market.externalities",
    "market",
    "agents.networks",
    "agents.behaviours",
    "agents.traders",
    "agents.model",
    "agents.pricing",
    "agents.dynamics",
    "agents",
    "scenarios.plugins",
    "scenarios.output",
    "scenarios.schema",
    "scenarios.summary.verdict",
    "scenarios.features",
    "scenarios.schema.scenario",
    "scenarios.schema.loading",
    "scenarios.schema.game",
    "scenarios.tables",
    "scenarios.planning",
    "scenarios.duration",
    "scenarios.user_policy",
    "scenarios.settling",
    "scenarios.training",
    "scenarios.model_file",
    "scenarios.result",
    "scenarios.games",
    "scenarios.run",
    "scenarios.summary",
    "scenarios.drivers",
    "scenarios.runner",
    "scenarios.checking",
    "scenarios.sweeping",
    "scenarios.report",
    "scenarios.sklearn_model",
    "scenarios.trained_model",
    "scenarios.starting",
    "scenarios.studies",
    "scenarios.opened",
    "scenarios.opened_studies",
    "exchange.terms",
    "exchange.columns",
    "exchange.secure",
    "exchange.signing",
    "exchange.contract",
    "exchange.messages",
    "exchange.widths",
    "exchange.sealing",
    "exchange.limits",
    "exchange.folder",
    "exchange.owner.table",
    "exchange.owner.kept",
    "exchange.owner.answers",
    "exchange.statement",
    "exchange.owner",
    "exchange.owner_rows",
    "exchange.sentences",
    "exchange.learner",
    "exchange.flower",
    "exchange.rehearsal",
    "reproduction.study",
    "reproduction.item",
    "reproduction.checks",
    "reproduction.drawing",
    "reproduction.specification",
    "reproduction.tables",
    "reproduction.training",
    "reproduction.second",
    "reproduction.collaboration",
    "reproduction.timing",
    "reproduction.weighted",
    "reproduction.thesis",
    "reproduction.bounds",
    "reproduction.rivals",
    "reproduction.constants",
    "reproduction.errata",
    "reproduction.calibration",
    "reproduction.differing",
    "reproduction.intervals",
    "reproduction.beside",
    "reproduction.protocol",
    "reproduction.items",
    "reproduction.book",
    "reproduction.pages",
    "scenarios.dashboard",
    "scenarios.command.options",
    "scenarios.command.console",
    "exchange.command",
    "reproduction.command",
    "reproduction",
    "scenarios.command",
    "scenarios.reference",
    "exchange",
    "scenarios",
)
IMPORTED_AS = {
    "scikit_learn": "sklearn",
    "salib": "SALib",
    "python_docx": "docx",
    "fpdf2": "fpdf",
    "fonttools": "fontTools",
    "interpret_core": "interpret",
}
NOT_FOR_USERS = {"dev"}  # extras of dependencies
DYNAMIC = {"import_module", "__import__"}
NEVER_BELOW_AGENTS = {"mesa", "pandas", "matplotlib"}
NEVER = {"tests", "notebooks", "benchmarks", "conftest", "dpmarket"} | {
    path.stem for path in (ROOT / "tests").glob("*.py")
}


def name_of(path: Path) -> str:
    """The module that a file is, as imports name it."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


SOURCES = {name_of(path): path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))}


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module a tree imports, anywhere in it; where a name is taken from a package, the file of that name.

    What is imported for type checkers alone is left out: `named_types` has it.
    """
    for node in nodes_that_run(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the direction"
            for alias in node.names:
                file = f"{node.module}.{alias.name}"
                yield file if file in SOURCES else str(node.module)
        elif (
            isinstance(node, ast.Call)
            and getattr(node.func, "id", getattr(node.func, "attr", "")) in DYNAMIC
        ):
            yield from (str(arg.value) for arg in node.args[:1] if isinstance(arg, ast.Constant))


def nodes_that_run(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node of a tree but those under ``if TYPE_CHECKING:``."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if not is_for_types(child)]


def is_for_types(node: ast.AST) -> bool:
    """Whether a node is a block for type checkers alone."""
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"


def named_types(tree: ast.AST) -> Iterator[str]:
    """Every module that a tree imports for type checkers alone."""
    for node in ast.walk(tree):
        if is_for_types(node):
            yield from (name for child in node.body for name in imports(child))


def floor(module: str) -> str:
    """The package that a module belongs to."""
    return module.split(".")[0]


@cache
def room(module: str) -> str:
    """The line of the table that a module belongs to; none for a library."""
    lines = [line for line in ROOMS if f"{module}.".startswith(f"{line}.")]
    return max(lines, key=len, default="")


@pytest.fixture(scope="module")
def trees():
    """The syntax tree of every file."""
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}


@pytest.fixture(scope="module")
def imported(trees):
    """What every file imports."""
    return {name: sorted(set(imports(tree))) for name, tree in trees.items()}


def test_every_file_has_its_room_and_every_room_its_files():
    homeless = [name for name in SOURCES if room(name) in FLOORS and name not in FLOORS]
    assert not homeless, "name their room in ROOMS, in a line that their imports allow"
    assert not set(ROOMS) - set(SOURCES), "rooms that are no longer there"


def test_imports_run_one_way_between_floors_and_rooms(imported):
    wrong = [
        f"{name} imports {other}"
        for name, others in imported.items()
        for other in others
        if room(other) and ROOMS.index(room(other)) > ROOMS.index(room(name))
    ]
    assert not wrong


def test_types_are_named_of_the_same_floor_or_a_lower_one(trees):
    wrong = [
        f"{name} names a type of {other}"
        for name, tree in trees.items()
        for other in named_types(tree)
        if room(other) and floor(other) != floor(name)
        if ROOMS.index(room(other)) > ROOMS.index(room(name))
    ]
    assert not wrong


def test_every_library_that_is_imported_is_one_that_an_install_brings(imported):
    """A library that only the tools of development bring would be there for every test, and for no user."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [
        line
        for name, lines in project["optional-dependencies"].items()
        if name not in NOT_FOR_USERS
        for line in lines
    ]
    lines = [*project["dependencies"], *extras]
    declared = {re.split(r"[<>=!~ \[]", line)[0].replace("-", "_").lower() for line in lines}
    used = {other.split(".")[0] for others in imported.values() for other in others}
    assert (
        not used
        - set(sys.stdlib_module_names)
        - set(FLOORS)
        - {IMPORTED_AS.get(name, name) for name in declared}
    )


def test_learning_and_market_import_no_simulation_table_or_figure_library_and_nobody_the_tests(
    imported,
):
    wrong = [
        f"{name} imports {other}"
        for name, others in imported.items()
        for other in others
        for top in [other.split(".")[0]]
        if top in NEVER - set(FLOORS)
        or (top in NEVER_BELOW_AGENTS and name.split(".")[0] in ("learning", "market"))
    ]
    assert not wrong


def test_no_files_import_each_other_in_a_circle(imported):
    graph = nx.DiGraph(
        (name, other) for name, others in imported.items() for other in others if other in SOURCES
    )
    assert not [
        sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1
    ]


def test_every_package_and_room_says_what_lives_in_it(trees):
    silent = [
        name
        for name, path in SOURCES.items()
        if path.stem == "__init__" and not ast.get_docstring(trees[name])
    ]
    without = [
        str(path)
        for path in {path.parent for path in SOURCES.values()}
        if not (path / "__init__.py").exists()
    ]
    assert not silent and not without


def test_the_reader_sees_every_way_to_import():
    text = """
import market.game.game as g
if TYPE_CHECKING:
    from learning.losses import squared
def f():
    from agents import x
    importlib.import_module('pandas.core')
"""
    tree = ast.parse(text)
    assert set(imports(tree)) == {"market.game.game", "agents", "pandas.core"}
    assert set(named_types(tree)) == {"learning.losses.squared"}


@pytest.mark.parametrize("listed", ["slow.txt", "long.txt"])
def test_every_test_that_is_listed_is_there(listed):
    """By its name alone: a line with a case in brackets marks nothing."""
    for line in listed_tests(ROOT / "tests" / listed):
        file, _, name = line.partition("::")
        code = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^\s*(def|class) {re.escape(name.split('.')[-1])}\b[(:]", code, re.M), line
