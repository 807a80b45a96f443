"""``sysone serve`` as a process of its own, for the tests of the command."""

import os
import subprocess
import sys
import threading
from pathlib import Path


def serve_command(*arguments: str, **environment: str) -> "subprocess.Popen[str]":
    """Start it on a free port; its words come on stderr."""
    command = [sys.executable, "-m", "sysone", "serve", "--port", "0", *arguments]
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )


class Served:
    """A server that listens at ``url``; what it says before that is a child's."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.process = serve_command(*arguments, **environment)
        assert self.process.stderr is not None
        said = []
        while not said or "listening on " not in said[-1]:
            said.append(self.process.stderr.readline())
            assert said[-1], f"the command ended: {said}"
        self.url = said[-1].split("listening on ")[1].split(",")[0]
        # What follows in the log must not fill the pipe.
        self._drain = threading.Thread(target=self.process.stderr.read)
        self._drain.start()

    def workers(self) -> set[int]:
        """Children that serve; multiprocessing's resource tracker is another."""
        pid = self.process.pid
        found = set()
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            try:
                command = Path(f"/proc/{child}/cmdline").read_text()
            except OSError:
                continue
            if "spawn_main" in command:
                found.add(int(child))
        return found

    def stop(self) -> int:
        """End it; its exit code."""
        self.process.terminate()
        code = self.process.wait(60)
        self._drain.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code
