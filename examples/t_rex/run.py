"""Play T-Rex in real time and keep the results beside this script.

    python examples/t_rex/run.py --model clm --seeds 5 --duration 60

The options are those of ``sysone trex`` (see ``--help``), but ``--model`` has no default here.
Keys and addresses may be in a ``.env`` file at the root of the repository.
"""

from pathlib import Path

from sysone.trex.cli import Place, main

HERE = Path(__file__).resolve().parent

if __name__ == "__main__":
    main(Place(results=HERE / "results", env=HERE.parents[1] / ".env", model_required=True))
