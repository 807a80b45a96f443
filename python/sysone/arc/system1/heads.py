"""Decision heads over leaf vectors: Choice, Boolean and Score."""

from typing import Any, Final

import torch
from torch import nn

from sysone.arc.wording import Family

WIDTH: Final = 128
ATTENTION_HEADS: Final = 4
OUT: Final = -1e9

Tensor = Any


class DecisionHeads(nn.Module):  # type: ignore[misc]
    """A scalar a leaf, and for Choice what the candidates are beside each other.

    The set head's last layer is zero at the start, so that it begins as no head at all; it has no
    order, so that permuted candidates have permuted logits.
    """

    def __init__(self, hidden: int, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.norm = nn.LayerNorm(hidden)
            self.scalar = nn.ModuleDict(
                {name: nn.Linear(hidden, 1) for name in ("choice", "boolean", "score")}
            )
            self.set_project = nn.Linear(hidden + 1, WIDTH)
            self.set_attention = nn.MultiheadAttention(WIDTH, ATTENTION_HEADS, batch_first=True)
            self.set_output = nn.Linear(WIDTH, 1)
            for head in self.scalar.values():
                nn.init.normal_(head.weight, std=0.02)
                nn.init.zeros_(head.bias)
            nn.init.zeros_(self.set_output.weight)
            nn.init.zeros_(self.set_output.bias)

    def forward(self, vectors: Tensor, family: Family, mask: Tensor | None = None) -> Tensor:
        """Logits [B, K] of leaf vectors [B, K, hidden]; ``mask`` [B, K] is additive: 0 or -1e9.

        A Boolean's logit is that of true; the one of false is 0.
        """
        normed = self.norm(vectors.float())
        logits = self.scalar[family](normed)[..., 0]
        if mask is None:
            mask = torch.zeros(logits.shape, device=logits.device)
        if family == "choice":
            count = (mask == 0).sum(-1).clamp_min(1).float().log()
            known = torch.cat([normed, count[:, None, None].expand(-1, normed.shape[1], 1)], -1)
            u = self.set_project(known)
            attended, _ = self.set_attention(u, u, u, key_padding_mask=mask, need_weights=False)
            logits = logits + self.set_output((u + attended).tanh())[..., 0]
        return logits + mask
