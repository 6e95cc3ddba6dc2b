"""docs/reference/extending.md, run as it stands there: its classes, and each block of it."""

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "extending.md"
IMPORTS, *BLOCKS = (
    block.split("```")[0] for block in PAGE.read_text(encoding="utf-8").split("```python\n")[1:]
)

for _block in (IMPORTS, *BLOCKS):
    exec(compile(_block, str(PAGE), "exec"), globals())

# What the section enters it enters for good; here each test enters what it needs, so that no other
# test meets it.
ENTRIES = [
    (POLICIES, "root"),  # noqa: F821
    (COSTS, "cubic"),  # noqa: F821
    (LOSSES, "smooth_hinge"),  # noqa: F821
    (MECHANISMS, "logistic"),  # noqa: F821
    (ALGORITHMS, "heavy_ball"),  # noqa: F821
    (PROCUREMENT, "equal_split"),  # noqa: F821
    (BEHAVIOURS, "gradual"),  # noqa: F821
    (FEATURES, "embargo"),  # noqa: F821
]
ENTERED = {name: (table, table.pop(name)) for table, name in ENTRIES}


def enter(monkeypatch, *names):
    """Enter some of them, or all, for one test."""
    for name in names or ENTERED:
        table, plug_in = ENTERED[name]
        monkeypatch.setitem(table, name, plug_in)
