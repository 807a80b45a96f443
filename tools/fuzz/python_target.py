"""Fuzzes one Python target with atheris: ``python -m tools.fuzz.python_target NAME [libFuzzer's]``.

The coverage that guides it is that of the modules that the target names in ``INSTRUMENT``; C and
Cython under them run uninstrumented.
"""

import importlib
import sys

import atheris


def main() -> None:
    """Never returns: libFuzzer ends the process."""
    name = sys.argv.pop(1)
    path = f"tools.fuzz.targets.{name}"
    # First uninstrumented, to know what to instrument; then anew.
    before = set(sys.modules)
    wanted = importlib.import_module(path).INSTRUMENT
    for module in set(sys.modules) - before:
        if module.split(".")[0] in ("sysone", "tools"):
            del sys.modules[module]
    with atheris.instrument_imports(include=[path, *wanted]):
        target = importlib.import_module(path)
    atheris.Setup(sys.argv, target.check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
