"""Run every benchmark: each prints a table of its own; the exit status is 1 if any missed."""

import sys
from importlib import import_module
from pathlib import Path


def main() -> int:
    """Run all of them in turn; 1 if a target is missed."""
    missed = []
    for file in sorted(Path(__file__).parent.glob("bench_*.py")):
        name = file.stem.removeprefix("bench_")
        print(f"== {name}", flush=True)
        if import_module(f"benchmarks.{file.stem}").main():
            missed.append(name)
    print(f"== targets missed in: {', '.join(missed)}" if missed else "== all targets met")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
