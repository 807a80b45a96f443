"""A training loop that a kill cannot hurt: after a restart the same steps give the same losses.

What a step draws depends on seed and number of the step alone; weights, both moments of AdamW,
the step and all losses so far lie in one file that is replaced in one piece.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch

from sysone.runs.atomic import write_bytes
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

Tensor = Any
EVERY: Final = 25
"""Steps between two checkpoints."""
RATE_AT_END: Final = 0.05
BETAS: Final = (0.9, 0.98)
"""A shorter memory of squared gradients than usual: trainings here are short."""


class Trainer:
    """AdamW over named groups of weights, each with a rate of its own."""

    def __init__(
        self,
        name: str,
        path: Path,
        groups: Sequence[Mapping[str, Any]],
        steps: int,
        *,
        weight_decay: float = 0.01,
        clip: float = 1.0,
        every: int = EVERY,
        rise: int = 10,
    ) -> None:
        """Groups are ``{"params": [...], "lr": rate, "warmup": steps with rate 0}``.

        Rates rise over the first ``rise`` steps.
        """
        self.name, self.path, self.steps = name, path, steps
        self.clip, self.every, self.rise = clip, every, rise
        self.groups = [dict(group) for group in groups]
        self.parameters = [p for group in self.groups for p in group["params"]]
        self.optimizer = torch.optim.AdamW(
            [{"params": group["params"], "lr": group["lr"]} for group in self.groups],
            betas=BETAS,
            weight_decay=weight_decay,
        )
        self.losses: list[float] = []

    def run(self, loss_of: Callable[[int], Tensor], progress: Progress) -> list[float]:
        """Every step that is not done yet; the losses of all.

        ``loss_of`` gets the step's number, calls backward as often as it likes, and returns the
        loss as a number without gradient.

        Raises:
            RunError: a loss is not finite, or the checkpoint cannot be read or written.
        """
        self.resume()
        task = progress.task(f"stage {self.name}", self.steps)
        task.update(len(self.losses))
        for step in range(len(self.losses), self.steps):
            self._rates(step)
            # None, not zeros: what a step does not touch must not depend on the steps before.
            self.optimizer.zero_grad(set_to_none=True)
            loss = float(loss_of(step))
            if not math.isfinite(loss):
                raise RunError(f"stage {self.name}: the loss of step {step} is {loss}")
            torch.nn.utils.clip_grad_norm_(self.parameters, self.clip)
            self.optimizer.step()
            self.losses.append(loss)
            if len(self.losses) % self.every == 0:
                self.save()
            recent = self.losses[-20:]
            task.advance(1, f"loss {sum(recent) / len(recent):.3f}")
        task.finish()
        self.save()
        return self.losses

    def _rates(self, step: int) -> None:
        """Cosine from the group's rate down; none while it waits for the heads."""
        share = step / max(1, self.steps)
        falling = RATE_AT_END + (1 - RATE_AT_END) * 0.5 * (1 + math.cos(math.pi * share))
        rising = min(1.0, (step + 1) / self.rise)
        for group, ours in zip(self.optimizer.param_groups, self.groups, strict=True):
            waiting = step < ours.get("warmup", 0)
            group["lr"] = 0.0 if waiting else ours["lr"] * falling * rising

    def save(self) -> None:
        """Replace the checkpoint."""
        from safetensors.torch import save

        tensors = {}
        for index, parameter in enumerate(self.parameters):
            tensors[f"{index}.weight"] = parameter.detach().contiguous()
            state = self.optimizer.state.get(parameter, {})
            for key in ("exp_avg", "exp_avg_sq"):
                if key in state:
                    tensors[f"{index}.{key}"] = state[key].contiguous()
        notes = {"losses": json.dumps(self.losses), "steps": str(self.steps)}
        write_bytes(self.path, save(tensors, metadata=notes))

    def resume(self) -> None:
        """Take the checkpoint's weights, moments and losses, where there is one.

        Raises:
            RunError: the file is not of this training.
        """
        if not self.path.exists():
            return
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.path, "pt") as file:
                notes = file.metadata()
                if notes.get("steps") != str(self.steps):
                    return  # of another length: its rates were others, so it is trained anew
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise RunError(
                f"{self.path} cannot be read: {error}; remove it to begin anew"
            ) from None
        self.losses = json.loads(notes["losses"])
        with torch.no_grad():
            for index, parameter in enumerate(self.parameters):
                saved = tensors.get(f"{index}.weight")
                if saved is None or saved.shape != parameter.shape:
                    raise RunError(f"{self.path} is of another model; remove it to begin anew")
                parameter.copy_(saved)
                if f"{index}.exp_avg" in tensors:
                    self.optimizer.state[parameter] = {
                        "step": torch.tensor(float(len(self.losses))),
                        "exp_avg": tensors[f"{index}.exp_avg"].to(parameter.device),
                        "exp_avg_sq": tensors[f"{index}.exp_avg_sq"].to(parameter.device),
                    }
