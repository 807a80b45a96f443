"""That what the extras bring can be installed together, for each Python: resolved by pip.

    python tools/packaging/extras.py 3.11 3.12 3.13

The carla clients share an import name, so that each goes with all others but not with a second
one; vLLM pins what it needs and lives in an environment of its own.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final

import typer

ROOT: Final = Path(__file__).resolve().parent.parent.parent
CLIENTS: Final = ("map", "ue4", "ue5")
ALONE: Final = ("vllm",)

app = typer.Typer(add_completion=False)


def requirements(project: dict[str, Any], extras: list[str]) -> list[str]:
    """What a project of pyproject.toml needs with these extras."""
    found = list(project["dependencies"])
    for extra in extras:
        found += project["optional-dependencies"][extra]
    return found


def resolve(version: str, wanted: list[str]) -> tuple[int, str]:
    """Number of packages that pip would install on CPython ``version``, or 0 and its reason."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed"),
                *("--only-binary", ":all:", "--python-version", version, "--target", folder),
                *("-c", str(ROOT / "constraints.txt"), "--report", "-", *wanted),
            ],
            capture_output=True,
            text=True,
        )
    if done.returncode:
        return 0, done.stderr.strip()[-800:]
    return len(json.loads(done.stdout)["install"]), ""


@app.command()
def main(
    versions: Annotated[list[str], typer.Argument(help="CPython versions, as in 3.12.")],
) -> None:
    """One JSON object for each Python and carla client; exit 1 if one does not resolve."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    common = [e for e in project["optional-dependencies"] if e not in (*CLIENTS, *ALONE)]
    failed = False
    for version in versions:
        for client in CLIENTS:
            extras = [*common, client]
            packages, reason = resolve(version, requirements(project, extras))
            typer.echo(json.dumps({"python": version, "extras": extras, "packages": packages}))
            if reason:
                failed = True
                typer.echo(f"CPython {version} with {', '.join(extras)}:\n{reason}", err=True)
    if failed:
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
