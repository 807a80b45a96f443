"""A small checkpoint in CLM's format, saved by PyTorch, and what its heads make of some vectors.

    python tools/clm/make_fixture.py tests/data/systemone

Needs the train extra. The architecture is written out here with PyTorch's own layers; the tests
compare the reader and the numbers of sysone.systemone with it.
"""

import json
import sys
from pathlib import Path

import torch

WIDTH, DEPTH, PROJECTION, HIDDEN, VECTORS = 24, 4, 16, 32, 6
CFG = {
    "width": WIDTH,
    "depth": DEPTH,
    "projection_dim": PROJECTION,
    "activation": "gelu",
    "layernorm": True,
    "residual": True,
    "hidden_size": HIDDEN,
    "task": "fixture",
}


class Head(torch.nn.Module):
    """One side, with the names that the format has for its layers."""

    def __init__(self) -> None:
        """Random weights; norms that are not the identity."""
        super().__init__()
        self.inp = torch.nn.Linear(HIDDEN, WIDTH)
        self.hidden = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(DEPTH - 2))
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(WIDTH) for _ in range(DEPTH - 2))
        self.out = torch.nn.Linear(WIDTH, PROJECTION)
        for norm in self.norms:
            torch.nn.init.normal_(norm.weight)
            torch.nn.init.normal_(norm.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalised projections."""
        x = torch.nn.functional.gelu(self.inp(x))
        for linear, norm in zip(self.hidden, self.norms, strict=True):
            x = x + torch.nn.functional.gelu(norm(linear(x)))
        return torch.nn.functional.normalize(self.out(x), dim=-1)


def main(out: Path) -> None:
    """Write clm_checkpoint.pt and clm_vectors.json."""
    torch.manual_seed(0)
    state, action = Head(), Head()
    vectors = torch.nn.functional.normalize(torch.randn(VECTORS, HIDDEN), dim=-1)
    saved = {
        "state_head": state.state_dict(),
        "action_head": action.state_dict(),
        "logit_scale": torch.nn.Parameter(torch.tensor(2.5)),
        "cfg": CFG,
        "projection_dim": PROJECTION,
        "epoch": 3,
        "metrics": {"accuracy": 0.5},
    }
    torch.save(saved, out / "clm_checkpoint.pt")
    with torch.no_grad():
        recorded = {
            "vectors": vectors.tolist(),
            "state": state(vectors).tolist(),
            "action": action(vectors).tolist(),
            "scale": float(torch.tensor(2.5).exp()),
        }
    (out / "clm_vectors.json").write_text(json.dumps(recorded))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
