"""What users are told when something they gave is wrong."""


class ArenaError(ValueError):
    """Bad input: a code for programs and one sentence for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ScenarioError(ArenaError):
    """A scenario that cannot be applied; ``path`` names the place."""

    def __init__(self, code: str, path: str, message: str) -> None:
        super().__init__(code, f"scenario: {path or 'the text'} {message} ({code})")
        self.path = path


class ActionError(ArenaError):
    """A side's action was refused as a whole; the environment has not advanced."""

    def __init__(self, code: str, path: str, side: str) -> None:
        where = f"{side}.{path}" if path else side
        super().__init__(code, f"action: {where}: {code}")
        self.path = path
        self.side = side
