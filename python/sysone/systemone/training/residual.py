"""Train a pair of residual heads on labelled questions over the frozen encoder (needs torch).

Loss: cross-entropy of each question's own options, plus the anchor: vectors of general texts
must stay where the encoder puts them. The scale is fitted afterwards, on examples that the
training never saw.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.numpy import save

from sysone.runs.atomic import write_bytes, write_json
from sysone.systemone.encoder import Encoder, Keep
from sysone.systemone.models import candidate_texts
from sysone.systemone.render import render_state
from sysone.systemone.training.examples import Example

# Beyond this the softmax is a hard choice; CLM clamps its learnt scale there too.
MAX_SCALE = 100.0


@dataclass(frozen=True)
class Config:
    """How a pair of heads is trained."""

    rank: int = 32
    """Hidden units of each side's correction."""
    epochs: int = 30
    batch: int = 256
    """Questions a step."""
    learning_rate: float = 2e-3
    training_scale: float = 20.0
    """Scale of the cosines in the loss; lower asks for wider margins."""
    anchor_weight: float = 20.0
    """Weight of the mean squared distance by which general texts move."""
    seed: int = 0


class Side(torch.nn.Module):  # type: ignore[misc]  # torch is read as untyped
    """One side's correction; as `heads.ResidualHead`, zero at the start."""

    def __init__(self, width: int, rank: int) -> None:
        """Random directions in, nothing out: the head begins as the identity."""
        super().__init__()
        self.down = torch.nn.Linear(width, rank)
        self.up = torch.nn.Linear(rank, width, bias=False)
        torch.nn.init.zeros_(self.up.weight)

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Corrected, normalised vectors of the same shape."""
        corrected = vectors + self.up(torch.relu(self.down(vectors)))
        return torch.nn.functional.normalize(corrected, dim=-1)


class Texts:
    """Distinct texts of one side and their vectors."""

    def __init__(self, encoder: Encoder, keep: Keep) -> None:
        """Collect texts with `add`, then `encode` once."""
        self._encoder = encoder
        self._keep: Keep = keep
        self._places: dict[str, int] = {}

    def add(self, text: str) -> int:
        """The row that the text will have."""
        return self._places.setdefault(text, len(self._places))

    def encode(self, pool: ThreadPoolExecutor) -> torch.Tensor:
        """Vectors [texts, width]."""
        found = pool.map(lambda text: self._encoder.encode(text, self._keep).vector, self._places)
        return torch.from_numpy(np.stack(list(found)))


@dataclass(frozen=True)
class Batchable:
    """Questions as indices into the texts: [questions], and [questions, options] with padding."""

    states: torch.Tensor
    candidates: torch.Tensor
    padding: torch.Tensor
    targets: torch.Tensor


def lay_out(examples: Sequence[Example], states: Texts, candidates: Texts) -> Batchable:
    """Register every text of the examples and remember where it is."""
    state_rows = []
    option_rows = []
    for example in examples:
        state_rows.append(states.add(render_state(example.state, example.question.instructions)))
        option_rows.append([candidates.add(text) for text in candidate_texts(example.question)])
    widest = max(len(row) for row in option_rows)
    padded = [row + [0] * (widest - len(row)) for row in option_rows]
    padding = [[index >= len(row) for index in range(widest)] for row in option_rows]
    return Batchable(
        torch.tensor(state_rows),
        torch.tensor(padded),
        torch.tensor(padding),
        torch.tensor([example.target for example in examples]),
    )


@dataclass(frozen=True)
class Trained:
    """Weights of both sides and the fitted scale."""

    state: Side
    action: Side
    scale: float


def cosines(data: Batchable, states: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
    """[questions, options]; padding is minus infinity."""
    found = torch.einsum("qd,qod->qo", states[data.states], candidates[data.candidates])
    return found.masked_fill(data.padding, -torch.inf)


def rows(data: Batchable, chosen: torch.Tensor) -> Batchable:
    """Some of the questions."""
    return Batchable(
        data.states[chosen], data.candidates[chosen], data.padding[chosen], data.targets[chosen]
    )


def train(
    encoder: Encoder,
    examples: Sequence[Example],
    anchors: Sequence[Example],
    calibration: Sequence[Example],
    config: Config,
) -> Trained:
    """Fit the heads; deterministic for equal inputs on one machine.

    ``anchors`` are general questions whose texts must not move; ``calibration`` holds examples
    that share nothing with ``examples``: the scale is fitted on them.
    """
    torch.manual_seed(config.seed)
    states, candidates = Texts(encoder, "tail"), Texts(encoder, "head")
    training = lay_out(examples, states, candidates)
    general = lay_out(anchors, states, candidates)
    held_out = lay_out(calibration, states, candidates)
    with ThreadPoolExecutor() as pool:
        state_vectors, candidate_vectors = states.encode(pool), candidates.encode(pool)
    still_states = state_vectors[general.states.unique()]
    still_candidates = candidate_vectors[general.candidates[~general.padding].unique()]

    state, action = (Side(encoder.width, config.rank) for _ in range(2))
    parameters = [*state.parameters(), *action.parameters()]
    steps = config.epochs * -(-len(examples) // config.batch)
    optimiser = torch.optim.AdamW(parameters, lr=config.learning_rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, config.learning_rate, steps)
    for _ in range(config.epochs):
        for chosen in torch.randperm(len(examples)).split(config.batch):
            batch = rows(training, chosen)
            distinct, batch_states = batch.states.unique(return_inverse=True)
            options, batch_candidates = batch.candidates.unique(return_inverse=True)
            local = Batchable(batch_states, batch_candidates, batch.padding, batch.targets)
            logits = config.training_scale * cosines(
                local, state(state_vectors[distinct]), action(candidate_vectors[options])
            )
            loss = torch.nn.functional.cross_entropy(logits, batch.targets)
            moved = (state(still_states) - still_states).square().sum(1).mean() + (
                action(still_candidates) - still_candidates
            ).square().sum(1).mean()
            optimiser.zero_grad()
            (loss + config.anchor_weight * moved).backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step()
            schedule.step()

    with torch.no_grad():
        found = cosines(held_out, state(state_vectors), action(candidate_vectors))
    return Trained(state, action, fit_scale(found, held_out.targets))


def fit_scale(cosine: torch.Tensor, targets: torch.Tensor) -> float:
    """The scale of least negative log-likelihood, up to `MAX_SCALE`: a search on a fine grid."""
    grid = torch.logspace(0, np.log10(MAX_SCALE), 201)
    losses = [float(torch.nn.functional.cross_entropy(scale * cosine, targets)) for scale in grid]
    return round(float(grid[int(np.argmin(losses))]), 3)


def save_heads(
    out: Path,
    name: str,
    description: str,
    encoder: Encoder,
    trained: Trained,
    about: Any,
    reader: Mapping[str, npt.NDArray[np.float32]] | None = None,
) -> None:
    """Write ``<name>.safetensors`` and ``<name>.json``; ``about`` is kept in the record.

    ``reader`` are a reader's tensors, for a model that answers questions of any kind.
    """
    tensors = {}
    for side, module in (("state_head", trained.state), ("action_head", trained.action)):
        tensors[f"{side}.down"] = module.down.weight.detach().numpy()
        tensors[f"{side}.bias"] = module.down.bias.detach().numpy()
        tensors[f"{side}.up"] = module.up.weight.detach().numpy()
    tensors |= {f"reader.{key}": value for key, value in (reader or {}).items()}
    cfg: dict[str, Any] = {"kind": "residual", "rank": trained.state.down.out_features}
    if reader:
        cfg["reader"] = True
    write_record(out, name, description, encoder, cfg, trained.scale, about, tensors)


def write_record(
    out: Path,
    name: str,
    description: str,
    encoder: Encoder,
    cfg: Any,
    scale: float,
    about: Any,
    tensors: Mapping[str, npt.NDArray[np.float32]],
) -> None:
    """Write a model's weights in half precision, then the record that names them."""
    half = {key: np.ascontiguousarray(value, np.float16) for key, value in tensors.items()}
    write_bytes(out / f"{name}.safetensors", save(half))
    record = {
        "name": name,
        "description": description,
        "release_date": datetime.now(UTC).date().isoformat(),
        "encoder": encoder.identity,
        "cfg": cfg,
        "weights": f"{name}.safetensors",
        "scale": scale,
        "training": about,
    }
    write_json(out / f"{name}.json", record, indent=1)
