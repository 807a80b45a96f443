"""Fuzzes one Python target with atheris: ``python -m tools.fuzz.python_target NAME [libFuzzer's]``.

The coverage that guides it is that of the target and of the modules that it names in
``INSTRUMENT``; C and Cython under them run uninstrumented.
"""

import gc
import importlib
import sys
from types import FunctionType

import atheris


def main() -> None:
    """Never returns: libFuzzer ends the process."""
    name = sys.argv.pop(1)
    target = importlib.import_module(f"tools.fuzz.targets.{name}")
    wanted = {target.__name__, *target.INSTRUMENT}
    # Function by function and not as they are imported: the editable install has a loader of its
    # own, behind which atheris does not see.
    functions = [
        found
        for found in gc.get_objects()
        if isinstance(found, FunctionType) and found.__module__ in wanted
    ]
    for function in functions:
        atheris.instrument_func(function)
    print(f"{len(functions)} functions are instrumented", file=sys.stderr)
    atheris.Setup(sys.argv, target.check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
