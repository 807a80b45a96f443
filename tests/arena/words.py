"""Words that several scenario tests are told in."""

from typing import Any


def at(x: float, y: float, **more: Any) -> dict[str, Any]:
    """A robot of a scenario."""
    return {"x": x, "y": y, **more}


def until(game: Any, red: dict[str, Any], done: Any, seconds: float = 10, blue: Any = None) -> Any:
    """Play on with the same actions until something holds."""
    for _ in range(round(seconds * 10)):
        if done():
            return game
        game.once(red, blue)
    raise AssertionError("it never came about")
