"""Between the socket and a model: how to load, reset, plan and step it.

An adapter is any object with these five functions; `load_adapter` finds one by name.
"""

import copy
import importlib
import importlib.util
import sys
from collections import deque
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

PID_DEFAULTS: Final = {"k_p": 1.75, "k_i": 1.0, "k_d": 2.0, "n": 20}
FOLLOW_LANE: Final = 4
MOST_VALUES: Final = 1_000_000
"""A larger array is weights."""


class Adapter(Protocol):
    """One kind of model."""

    def load(self, config: dict[str, Any]) -> Any:
        """The agent, with its weights: called once."""

    def soft_reset(self, agent: Any) -> None:
        """Forget the last route, keep the weights."""

    def set_plan(self, agent: Any, gps_plan: list[Any], world_plan: list[Any]) -> None:
        """Where to go: ({"lat", "lon", "z"}, option) and (transform, option), same indices."""

    def sensors(self, agent: Any) -> list[dict[str, Any]]:
        """What it wants to see, as the leaderboard's ``sensors()`` lists it."""

    def step(self, agent: Any, input_data: dict[str, Any], t: float) -> Any:
        """Controls for one tick: an object or dictionary with throttle, brake and steer."""


class AdapterError(ValueError):
    """There is no such adapter, or it cannot be loaded; the text says why."""


def load_adapter(name: str) -> Adapter:
    """``stub``, ``simlingo``, ``automot`` or ``module:Class``.

    Modules are looked for in the current directory, too.

    Raises:
        AdapterError: there is none of this name.
    """
    if name == "stub":
        from sysone.drive.service.stub import StubAdapter

        return StubAdapter()
    if name in ("simlingo", "automot"):
        return LeaderboardAdapter(name)
    module, _, attribute = name.partition(":")
    if not attribute:
        raise AdapterError(f"adapter is {name!r}, expected stub, simlingo, automot or module:Class")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        made: Adapter = getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError) as error:
        raise AdapterError(f"adapter {name} cannot be loaded: {error}") from error
    lacking = [
        part
        for part in ("load", "soft_reset", "set_plan", "sensors", "step")
        if not callable(getattr(made, part, None))
    ]
    if lacking:
        raise AdapterError(f"adapter {name} lacks {', '.join(lacking)}")
    return made


class LeaderboardAdapter:
    """An agent written for the CARLA leaderboard, its own code untouched.

    ``config`` names ``agent_path`` (the agent's Python file), ``agent_config`` (what its ``setup``
    takes) and optionally ``agent_class``; without it, ``get_entry_point()`` of the file decides.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.binary_brake = kind == "simlingo"
        self.module: Any = None
        self.fresh: dict[str, Any] = {}
        """Of an agent whose attributes are not known by name: its small ones as `load` left them.
        """

    def load(self, config: dict[str, Any]) -> Any:
        """Import the agent's file, make the agent and set it up."""
        path = config.get("agent_path")
        if not path or not Path(path).is_file():
            raise AdapterError(f"agent_path is {path!r}, expected the agent's Python file")
        sys.path.insert(0, str(Path(path).parent))
        spec = importlib.util.spec_from_file_location(Path(path).stem, path)
        if spec is None or spec.loader is None:
            raise AdapterError(f"agent_path is {path!r}, expected the agent's Python file")
        self.module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = self.module
        spec.loader.exec_module(self.module)
        name = config.get("agent_class") or self.module.get_entry_point()
        agent = getattr(self.module, name)("127.0.0.1", 2000)
        agent.setup(config.get("agent_config", ""))
        if self.kind != "simlingo":
            self.fresh = remember(agent)
        return agent

    def soft_reset(self, agent: Any) -> None:
        """Every attribute that a route leaves behind, back to what a fresh agent has."""
        if self.kind != "simlingo":
            restore(agent, self.fresh)
            return
        agent.step = -1
        agent.initialized = False  # the first frame then rebuilds the route planner
        agent.DrivingInput = {}
        agent.last_command = agent.last_command_tmp = -1
        agent.stuck_detector = 0
        agent.force_move = 0
        agent.target_point_prev = [1e5, 1e5, 1e5]
        agent.commands = deque([FOLLOW_LANE, FOLLOW_LANE], maxlen=2)
        agent.metric_info = {}
        gains = {
            key: getattr(getattr(agent, "config", None), f"speed_{key}", value)
            for key, value in PID_DEFAULTS.items()
        }
        # Two controllers with two signatures: mixed up, route 1 drives and every later one fails.
        agent.speed_controller = self._class(agent, "PIDController", "speed_controller")(**gains)
        agent.turn_controller = self._class(agent, "LateralPIDController", "turn_controller")(
            inference_mode=False
        )
        if hasattr(agent, "image_buffer"):
            agent.image_buffer.clear()
        # The position filter: left alone, route 2 starts from route 1's last pose.
        agent.filter_initialized = False
        if hasattr(agent, "state_log"):
            agent.state_log.clear()
        if hasattr(agent, "ukf"):
            agent.ukf.P = np.diag([0.5, 0.5, 1e-6, 1e-6])
        control = getattr(agent, "control", None)
        if control is not None:
            for name in ("throttle", "brake", "steer"):
                setattr(control, name, 0.0)

    def _class(self, agent: Any, name: str, attribute: str) -> Any:
        found = getattr(self.module, name, None)
        return type(getattr(agent, attribute)) if found is None else found

    def set_plan(self, agent: Any, gps_plan: list[Any], world_plan: list[Any]) -> None:
        """As the leaderboard's ``set_global_plan`` does."""
        agent._global_plan = gps_plan
        agent._global_plan_world_coord = world_plan

    def sensors(self, agent: Any) -> list[dict[str, Any]]:
        """The agent's own list."""
        return list(agent.sensors())

    def step(self, agent: Any, input_data: dict[str, Any], t: float) -> Any:
        """The agent's ``run_step``."""
        return agent.run_step(input_data, t)


def _is_heavy(value: Any) -> bool:
    """Networks, tensors, modules and functions: kept as they are over all routes."""
    if isinstance(value, np.ndarray):
        return value.size > MOST_VALUES
    return callable(value) or any(hasattr(value, name) for name in ("parameters", "device"))


def remember(agent: Any) -> dict[str, Any]:
    """Copies of an agent's small attributes, controllers and buffers among them."""
    found = {}
    for name, value in vars(agent).items():
        if _is_heavy(value):
            continue
        try:
            found[name] = copy.deepcopy(value)
        except Exception:  # handles, locks, whatever else cannot be copied, stay as they are
            continue
    return found


def restore(agent: Any, fresh: dict[str, Any]) -> None:
    """Small attributes as they were; those that a route has added go, heavy ones stay."""
    for name, value in list(vars(agent).items()):
        if name not in fresh and not _is_heavy(value):
            try:
                copy.deepcopy(value)
            except Exception:  # was skipped by `remember` too
                continue
            delattr(agent, name)
    for name, value in fresh.items():
        setattr(agent, name, copy.deepcopy(value))


_SIMPLE: Final = (int, float, str, bool, bytes, type(None))


def snapshot(agent: Any, depth: int = 3) -> dict[str, Any]:
    """The agent's attributes as values that can be compared; big things by identity."""

    def seen(value: Any, left: int) -> Any:
        if isinstance(value, _SIMPLE):
            return repr(value)
        if isinstance(value, np.ndarray) and value.size <= 4096:
            return (value.shape, value.tobytes())
        if left > 0 and isinstance(value, (list, tuple, deque)) and len(value) <= 1000:
            return (type(value).__name__, [seen(item, left - 1) for item in value])
        if left > 0 and isinstance(value, dict) and len(value) <= 1000:
            return {str(key): seen(item, left - 1) for key, item in value.items()}
        attributes: Any = getattr(value, "__dict__", None)
        small = attributes is not None and len(attributes) <= 100 and not callable(value)
        # what looks like a network stays by identity
        if left > 0 and small and not hasattr(value, "parameters"):
            return (
                type(value).__name__,
                {key: seen(item, left - 1) for key, item in attributes.items()},
            )
        return ("object", id(value))

    return {name: seen(value, depth) for name, value in vars(agent).items()}


def audit_reset(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Attributes in which a driven and reset agent differs from a fresh one.

    ``before`` is the `snapshot` right after loading and planning, ``after`` the one after driving,
    `soft_reset` and the same plan.
    """
    names = [*before, *(name for name in after if name not in before)]
    return [name for name in names if before.get(name) != after.get(name)]
