"""Several robot strategies in one process: each has its own modules, its own state, its own slot.

Strategies call their modules what they like; ``main`` and ``policy`` are in most of them. So each
part's modules are taken out of the interpreter's list after every call, and put back before the
next one.
"""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any


class Part:
    """One robot's strategy in its own folder."""

    def __init__(self, folder: Path, slot: int, entry: str) -> None:
        self.folder = folder
        self.slot = slot
        self.state: dict[str, Any] = {}
        self._modules: dict[str, ModuleType] = {}
        name, _, attribute = entry.partition(":")
        with self._at_home():
            spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
            if spec is None or spec.loader is None:
                raise ImportError(f"no module {name} in {folder}")
            self._module = importlib.util.module_from_spec(spec)
            sys.modules[name] = self._module
            spec.loader.exec_module(self._module)
            found = getattr(self._module, attribute)
            self._target: Any = found() if isinstance(found, type) else found

    def call(self, name: str, *arguments: Any) -> Any:
        """Call the strategy's ``act`` or one of its optional functions."""
        function: Callable[..., Any] | None
        if name == "act" and callable(self._target) and not hasattr(self._target, "act"):
            function = self._target
        else:
            function = getattr(self._target, name, None) or getattr(self._module, name, None)
        if function is None:
            return None
        with self._at_home():
            return function(*arguments)

    @contextmanager
    def _at_home(self) -> Iterator[None]:
        before = {name: sys.modules.get(name) for name in self._modules}
        sys.modules.update(self._modules)
        sys.path.insert(0, str(self.folder))
        try:
            yield
        finally:
            sys.path.remove(str(self.folder))
            for name, module in list(sys.modules.items()):
                file = getattr(module, "__file__", None)
                if file is not None and Path(file).is_relative_to(self.folder):
                    self._modules[name] = module
                    del sys.modules[name]
            for name, other in before.items():
                if other is not None:
                    sys.modules[name] = other


class Assembled:
    """The parts of a team, from its ``parts.json``."""

    def __init__(self, folder: Path) -> None:
        rows = json.loads((folder / "parts.json").read_text(encoding="utf-8"))
        self.parts = [
            Part(folder / "parts" / str(row["slot"]), row["slot"], row["entry"]) for row in rows
        ]
        self._ready = False

    def reset(self, info: dict[str, Any]) -> None:
        """A match begins: each part is told of its own slot."""
        for part in self.parts:
            own = {
                **info,
                "slots": [part.slot],
                "models": {str(part.slot): info["models"][str(part.slot)]},
            }
            part.state = {}
            if not self._ready:
                part.call("setup", own)
            part.call("reset", own)
        self._ready = True

    def act(self, observation: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
        """Each part's action for its own slot."""
        actions: dict[str, Any] = {}
        for part in self.parts:
            slot = str(part.slot)
            if slot not in observation["robots"]:
                continue
            action = part.call("act", {**observation, "self": part.slot}, part.state)
            if action and slot in action:
                actions[slot] = action[slot]
        return actions
