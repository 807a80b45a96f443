"""Whether a checkpoint's backbone fits where it is to run: said before it is loaded."""

import re
import sys
from pathlib import Path
from typing import Any, Final

import torch

from sysone.runs.errors import RunError

GB: Final = 1e9
BESIDE: Final = 1.25
"""Activations and the allocator's own beside the weights, as a factor."""
LEAST_GB: Final = {"cuda": 1.0, "cpu": 0.5}
"""What the libraries take before any weight is there."""
TRAINED: Final = {"lora": 1.5, "all": 4.0}
"""Times its weights that a training takes: what a backward pass keeps, where adapters alone are
trained; or gradients and the two moments of AdamW beside every weight."""
FOUR_BIT: Final = 0.25
"""The same of a base that is loaded in 4 bits."""
BYTES_A_WEIGHT: Final = 2
"""Of float16 and bfloat16, which large models are stored in."""
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)[bB](?![a-z])")


def weights_gb(base: str) -> float | None:
    """GB of a base's weights: of its files where they are here, else of the size in its name."""
    folder = Path(base)
    if folder.is_dir():
        files = [*folder.glob("*.safetensors"), *folder.glob("*.bin")]
        return sum(path.stat().st_size for path in files) / GB if files else None
    found = _SIZE.search(base.rpartition("/")[2])
    return float(found[1]) * BYTES_A_WEIGHT if found else None


def estimate_gb(base: str, device: str, times: float = 1.0) -> float | None:
    """GB that a base takes on ``cuda`` or ``cpu``; None: nothing says how large.

    ``times`` is 1 for inference, else of `TRAINED` or `FOUR_BIT`.
    """
    weights = weights_gb(base)
    return None if weights is None else weights * times * BESIDE + LEAST_GB[device]


def free_gb(device: str) -> float | None:
    """GB that are free on the device; None where there is no such device, or nothing says."""
    if device == "cuda":
        if not torch.cuda.is_available():
            return None
        free, _ = torch.cuda.mem_get_info()
        return float(free) / GB
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 / GB if found else None


def place_for(what: str, base: str, backend: str, force: bool = False, note: Any = None) -> str:
    """The device that an hf backbone is loaded on; the estimate is said before.

    Args:
        what: the checkpoint, or the base, by the name that the user gave.
        base: folder or name of the backbone.
        backend: ``auto`` takes a CUDA device with the memory alone; ``hf`` a CPU as well.
        force: load it even where it does not fit.
        note: is given the line with the estimate; None: stderr.

    Raises:
        RunError: auto finds no such device, or the load cannot fit.
    """
    there = free_gb("cuda")
    wanted = estimate_gb(base, "cuda")
    fits = there is not None and (wanted is None or wanted <= there)
    if backend == "auto" and not fits and not force:
        needs = "" if wanted is None else f" with {wanted:.1f} GB free"
        found = "none" if there is None else f"one with {there:.1f} GB free"
        raise RunError(
            f"{what} is an hf one, and --backend auto finds no CUDA device{needs} (found: "
            f"{found}); --backend hf allows a CPU, which is slow, and without --checkpoint the "
            "tiny model that ships decides"
        )
    device = "cuda" if there is not None and (fits or backend == "auto") else "cpu"
    tell(what, base, device, estimate_gb(base, device), force, note)
    return device


def check_room(
    what: str,
    base: str,
    device: str,
    force: bool = False,
    *,
    times: float = 1.0,
    beside: tuple[str, float] | None = None,
    note: Any = None,
) -> None:
    """Say what a backbone takes on a device of PyTorch's (``cpu``, ``cuda:1``, …) before a load.

    Args:
        what: what is loaded, for the message.
        base: folder or name of the backbone.
        device: where to; of other kinds than CUDA the main memory counts.
        force: load it even where it does not fit.
        times: see `estimate_gb`.
        beside: a second base that is loaded as well, and its ``times``.
        note: is given the line with the estimate; None: stderr.

    Raises:
        RunError: it cannot fit.
    """
    kind = "cuda" if device.startswith("cuda") else "cpu"
    wanted = estimate_gb(base, kind, times)
    named = base
    if beside is not None:
        named = f"{base} with {beside[0]} beside it"
        more = weights_gb(beside[0])
        wanted = None if wanted is None or more is None else wanted + more * beside[1] * BESIDE
    tell(what, named, kind, wanted, force, note)


def tell(
    what: str, base: str, device: str, wanted: float | None, force: bool, note: Any = None
) -> None:
    """Say the ``wanted`` GB and what is free.

    Raises:
        RunError: more is wanted than is free, and nothing forces it.
    """
    there = free_gb(device)
    told = "an unknown amount" if wanted is None else f"about {wanted:.1f} GB"
    free = "an unknown amount is" if there is None else f"{there:.1f} GB are"
    line = f"sysone arc: {base} needs {told} of memory on {device}, {free} free"
    if note is None:
        print(line, file=sys.stderr)
    else:
        note(line)
    if wanted is not None and there is not None and wanted > there and not force:
        raise RunError(
            f"{what} needs about {wanted:.1f} GB of memory on {device}, and {there:.1f} GB are "
            "free; --force loads it all the same"
        )
