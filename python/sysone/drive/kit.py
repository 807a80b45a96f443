"""The model's side as a folder of its own, for environments older than this package."""

import shutil
from pathlib import Path
from typing import Final

from sysone.runs.errors import RunError, unwritable

HERE: Final = Path(__file__).parent
LAUNCHER: Final = '''"""Serve a driving model: python serve.py --help."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from sysone.drive.service.__main__ import main  # noqa: E402

sys.exit(main())
'''
PACKAGE: Final = '"""Part of the agent kit of sysone-core."""\n'
README: Final = """# Agent kit

The model's side of the drive socket, copied from sysone-core: Python 3.10 or newer and NumPy.

    python serve.py --adapter stub --connect 127.0.0.1:5555
    python serve.py --adapter simlingo --config simlingo.json
    python serve.py --adapter my_module:MyAdapter

`simlingo.json` names `agent_path` (the agent's own Python file) and `agent_config` (what its
`setup` takes). Your own adapter is a class with `load`, `soft_reset`, `set_plan`, `sensors` and
`step`; `sysone/drive/service/adapters.py` describes them.
"""


def write_kit(folder: Path) -> list[Path]:
    """Write the kit; its files.

    Raises:
        RunError: the folder is not empty or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RunError(f"{folder} is there and not an empty folder")
    service = folder / "sysone" / "drive" / "service"
    try:
        service.mkdir(parents=True)
        for package in (folder / "sysone", folder / "sysone" / "drive"):
            (package / "__init__.py").write_text(PACKAGE, encoding="utf-8")
        shutil.copyfile(HERE / "gps.py", folder / "sysone" / "drive" / "gps.py")
        for source in sorted((HERE / "service").glob("*.py")):
            shutil.copyfile(source, service / source.name)
        (folder / "serve.py").write_text(LAUNCHER, encoding="utf-8")
        (folder / "README.md").write_text(README, encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error) from error
    return sorted(path for path in folder.rglob("*") if path.is_file())
