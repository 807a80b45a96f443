"""Exit codes of ``sysone drive``, and what any program's code says: name, cause, next step."""

import sys
from dataclasses import dataclass
from typing import Final

DIFFERS: Final = 1
USAGE: Final = 2
INCOMPLETE: Final = 3
BLOCKED: Final = 4
BAD_CONFIG: Final = 10
PORTS: Final = 11
VERSION: Final = 12
NO_AGENT: Final = 13
AGENT_FAILED: Final = 14
GPS: Final = 15
INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True)
class ExitReason:
    """Why a process ended."""

    code: int
    name: str
    cause: str
    next_step: str

    def __str__(self) -> str:
        return f"{self.name} (exit {_shown(self.code)}): {self.cause}"


_AGAIN: Final = "start the same command again"
_SIGNALS: Final[dict[int, tuple[str, str, str]]] = {
    2: ("SIGINT", "interrupted from the keyboard", _AGAIN),
    4: ("SIGILL", "an instruction that this processor lacks", "use a wheel for this machine"),
    6: (
        "SIGABRT",
        "a native assertion, often in the carla client as it leaves or reads an unset value",
        "nothing to do where the result is final; else look at the last line before it",
    ),
    7: ("SIGBUS", "a file that is mapped was cut, or a disk is full", "look at the disk"),
    8: ("SIGFPE", "a native division by zero", "report it with the route"),
    9: (
        "SIGKILL",
        "killed, often for want of memory",
        "look at the kernel's log for 'out of memory', and at free memory",
    ),
    11: (
        "SIGSEGV",
        "a native crash, often a client of another version than the server",
        "compare the versions: sysone drive probe",
    ),
    13: ("SIGPIPE", "the reader of its output has gone", "keep its output open"),
    15: ("SIGTERM", "asked to end", _AGAIN),
}
_WINDOWS: Final[dict[int, tuple[str, str, str]]] = {
    0xC0000005: (
        "access violation",
        "a native crash, often a client of another version or a graphics driver",
        "compare the versions: sysone drive probe",
    ),
    0xC0000409: (
        "stack buffer overrun or abort",
        "a native program ended itself",
        "look at its own log",
    ),
    0xC000013A: ("Ctrl+C", "interrupted from the keyboard", _AGAIN),
    0xC0000135: ("DLL not found", "a library is missing", "install the program's prerequisites"),
    0xE06D7363: (
        "uncaught C++ exception",
        "most often a port that is in use or reserved; the crash log's AdapterName line misleads",
        "sysone drive preflight, then start with the ports that it proposes",
    ),
}
_OURS: Final[dict[int, tuple[str, str, str]]] = {
    0: ("done", "no fault", "nothing to do"),
    DIFFERS: ("failed", "an error that the last lines of its output tell", "read them"),
    USAGE: ("usage", "an option or value that is not known", "read --help"),
    INCOMPLETE: ("incomplete", "some routes have no result", _AGAIN),
    BLOCKED: (
        "blocked",
        "the server cannot be kept up",
        "sysone drive probe, then the same command",
    ),
    BAD_CONFIG: (
        "configuration",
        "a route file, map or option does not fit",
        "read the line on stderr",
    ),
    PORTS: ("ports", "a port is taken or reserved", "sysone drive preflight"),
    VERSION: ("protocol version", "executor and model speak different versions", "see --proto"),
    NO_AGENT: ("no model", "no model connected in time", "start sysone drive serve beside it"),
    AGENT_FAILED: (
        "model failed",
        "the model raised in every drive",
        "read the model's own output",
    ),
    GPS: ("GPS self-check", "plan and readings disagree", "see --gps-model"),
    INTERRUPTED: ("interrupted", "ended by a signal, its state saved", _AGAIN),
}


def explain_exit(code: int) -> ExitReason:
    """Name, likely cause and next step of an exit code.

    Knows signals as Python's subprocess (-n) and as shells (128 + n) tell them, Windows' status
    codes (as signed or unsigned numbers), and this program's own codes.
    """
    if code in _OURS:
        found = _OURS[code]
    elif (code & 0xFFFFFFFF) in _WINDOWS:
        found = _WINDOWS[code & 0xFFFFFFFF]
    else:
        number = -code if code < 0 else code - 128
        found = _SIGNALS.get(
            number,
            ("signal " + str(number), "ended by a signal", "look at the program's own log")
            if 0 < number < 65
            else ("unknown", "the program's own code", "look at its documentation"),
        )
    return ExitReason(code, *found)


def _shown(code: int) -> str:
    unsigned = code & 0xFFFFFFFF
    windows = unsigned >= 0x80000000 and (code > 0 or sys.platform == "win32" or code < -64)
    return f"0x{unsigned:08X}" if windows else str(code)
