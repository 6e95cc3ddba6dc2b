"""Run every benchmark: each prints a table of its own."""

from importlib import import_module
from pkgutil import iter_modules

import benchmarks

for module in sorted(found.name for found in iter_modules(benchmarks.__path__) if found.name.startswith("bench_")):
    print(f"== {module.removeprefix('bench_')}")
    import_module(f"benchmarks.{module}").main()
