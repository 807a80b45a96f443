"""TinyVLM: a small vision-language model that a CPU runs, 64 visual tokens and a byte vocabulary.

Pictures of 64x64 in patches of 8x8 pass one block that sees all of them; then four causal blocks
read patches and text. Positions turn (rotary). A token that names a cell (see
`sysone.arc.system1.tokens`) carries the same two-dimensional features as the patches, and looks
at the picture around that cell, so that a candidate sees what it would click on, and how far it is
from there to the rarest colours.

Masks are additive float32 (0 or -1e9), never boolean: a boolean mask joined with the causal one
makes rows of padding all -inf, and softmax NaN.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import nn
from torch.nn import functional

from sysone.arc.system1.tokens import VOCABULARY, Text
from sysone.arc.vision import RGB

HIDDEN: Final = 128
HEADS: Final = 4
BLOCKS: Final = 4
PATCH: Final = 8
VISUAL: Final = (64 // PATCH) ** 2
OUT: Final = -1e9
WAVES: Final = 8
COLOURS: Final = 5
"""Planes that a picture's colours become."""
PLANES: Final = COLOURS + 2
"""And how rare the colour is in the picture, and whether it is the most frequent one."""
LOOK: Final = (-8, -4, 0, 4, 8)
"""Where a cell is looked around, in cells: the neighbours of a thing of up to six."""
FAR: Final = (-32, -24, -16, -8, 0, 8, 16, 24, 32)
"""The same from afar, where the rarest colour and the share of floor in 8x8 cells are seen."""
RANKS: Final = 8
"""Colours, the rarest first, to whose nearest cells a cell knows how far it is."""
NEAR: Final = 12.0
"""Cells over which nearness falls to a third."""
EDGE: Final = 32
"""Cells around a picture that may be looked at and hold nothing."""

Tensor = Any


@dataclass(slots=True)
class Cache:
    """Keys and values of what came before, right-padded; lengths are of real tokens."""

    layers: list[tuple[Tensor, Tensor]]
    """Of each block, [B, heads, P, hidden / heads]."""
    mask: Tensor
    """Additive float32 [B, P]."""
    lengths: Tensor
    """int64 [B]: the position of the next token."""
    planes: Tensor
    """What a cell can look at, with an edge around it, [B, PLANES + 2 + 2 * RANKS, 128, 128]."""


class Block(nn.Module):  # type: ignore[misc]
    """Pre-norm attention and feed-forward."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.before_attention = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.joined = nn.Linear(width, width)
        self.before_wide = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def split(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of x [..., T, width], each [..., heads, T, width / heads]."""
        parts = self.qkv(self.before_attention(x)).chunk(3, -1)
        return tuple(part.unflatten(-1, (HEADS, -1)).transpose(-3, -2) for part in parts)

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """What follows attention, whose result is [..., heads, T, width / heads]."""
        x = x + self.joined(attended.transpose(-3, -2).flatten(-2))
        return x + self.narrow(functional.gelu(self.wide(self.before_wide(x))))


class TinyVLM(nn.Module):  # type: ignore[misc]
    """The backbone; weights are drawn from ``seed``."""

    def __init__(self, seed: int = 0, width: int = HIDDEN, blocks: int = BLOCKS) -> None:
        super().__init__()
        self.width = width
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.colours = nn.Conv2d(3, COLOURS, 1)
            self.patches = nn.Conv2d(PLANES, width, PATCH, PATCH)
            self.near = nn.Linear(PLANES * len(LOOK) ** 2, width, bias=False)
            self.far = nn.Linear(2 * len(FAR) ** 2, width, bias=False)
            self.bytes = nn.Embedding(VOCABULARY, width)
            self.places = nn.Linear(4 * WAVES, width, bias=False)
            self.looking = Block(width)
            self.blocks = nn.ModuleList(Block(width) for _ in range(blocks))
            self.norm = nn.LayerNorm(width)
            self.ranges = nn.Linear(2 * RANKS, width, bias=False)
            nn.init.normal_(self.bytes.weight, std=0.5)
        side = 64 // PATCH
        centres = torch.arange(side) * PATCH + (PATCH - 1) / 2
        self.register_buffer(
            "centres",
            torch.stack([centres.repeat(side), centres.repeat_interleave(side)], -1),
            persistent=False,
        )
        self.register_buffer("palette", torch.tensor(RGB / 255.0).float(), persistent=False)

    @staticmethod
    def _waves(cells: Tensor) -> Tensor:
        """Sines and cosines of cells float [..., 2] (none where negative): [..., 4 * WAVES]."""
        rates = math.pi / 64 * 2.0 ** torch.linspace(-1, 4, WAVES, device=cells.device)
        angles = (cells.unsqueeze(-1) * rates).flatten(-2)
        waves = torch.cat([angles.sin(), angles.cos()], -1)
        return waves * (cells[..., :1] >= 0)

    def rarity(self, images: Tensor) -> Tensor:
        """How rare each cell's colour is in its picture, 0 to 1, and whether it is the commonest.

        Of images float32 [B, 3, 64, 64]: [B, 2, 64, 64]. Colours of no palette are all one.
        """
        planes, shares = self._values(images)
        rare = -torch.log(shares.clamp_min(1 / 4096)) / math.log(4096)
        most = (shares == shares.amax(1, keepdim=True)).float()
        return torch.einsum("bvyx,bcv->bcyx", planes, torch.stack([rare, most], 1))

    def _values(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Where each colour of the palette is, [B, 16, 64, 64], and its share, [B, 16]."""
        away = (images[:, None] - self.palette[None, :, :, None, None]).abs().sum(2)
        planes = (away < 1e-3).float()
        return planes, planes.mean((2, 3))

    def distances(self, images: Tensor) -> Tensor:
        """How far each cell is from the rarest colours, in a straight line, [B, 2 * RANKS, 64, 64].

        First steps over 64, 2 where there is no such colour, then nearness, which is 1 there and
        falls with the distance. Two sweeps an axis (Rosenfeld and Pfaltz 1968).
        """
        planes, shares = self._values(images)
        order = torch.where(shares > 0, shares, 2.0).argsort(dim=1, stable=True)[:, :RANKS]
        there = planes.gather(1, order[:, :, None, None].expand(-1, -1, *planes.shape[2:]))
        found = (1 - there) * 128
        steps = torch.arange(found.shape[-1], device=found.device, dtype=found.dtype)
        for axis in (2, 3):
            along = steps if axis == 3 else steps[:, None]
            before = (found - along).cummin(axis).values + along
            after = (found + along).flip(axis).cummin(axis).values.flip(axis) - along
            found = torch.minimum(before, after)
        return torch.cat([found / 64, torch.exp(-found / NEAR)], 1)

    def see(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Visual tokens [B, 64, width] of images float32 [B, 3, 64, 64], and their planes."""
        counted = self.rarity(images)
        planes = torch.cat([functional.gelu(self.colours(images)), counted], 1)
        x = self.patches(planes).flatten(2).transpose(1, 2)
        x = x + self.places(self._waves(self.centres))
        q, k, v = self.looking.split(x)
        seen = self.looking.finish(x, functional.scaled_dot_product_attention(q, k, v))
        around = functional.pad(counted, (4, 3, 4, 3))
        rarest = functional.max_pool2d(around[:, :1], PATCH, 1)
        floor = functional.avg_pool2d(around[:, 1:], PATCH, 1)
        every = torch.cat([planes, rarest, floor, self.distances(images)], 1)
        return seen, functional.pad(every, (EDGE,) * 4)

    def look(self, planes: Tensor, rows: Tensor, cells: Tensor) -> Tensor:
        """What lies around cells int64 [M, 2] of the pictures ``rows`` [M]: [M, width]."""

        def around(steps: tuple[int, ...], first: int, last: int) -> Tensor:
            moved = torch.tensor(steps, device=cells.device) + EDGE
            x = cells[:, 0, None, None] + moved[None, None, :]
            y = cells[:, 1, None, None] + moved[None, :, None]
            return planes[:, first:last][rows[:, None, None], :, y, x].flatten(1)

        near, far = around(LOOK, 0, PLANES), around(FAR, PLANES, PLANES + 2)
        ranges = around((0,), PLANES + 2, PLANES + 2 + 2 * RANKS)
        return self.near(near) + self.far(far) + self.ranges(ranges)

    def read(self, texts: list[list[Text]], planes: Tensor) -> tuple[Tensor, Tensor]:
        """Embedded tokens [B, N, T, width] of N texts a row, right-padded; real lengths [B, N]."""
        device = self.bytes.weight.device
        longest = max(1, max(len(text) for row in texts for text in row))
        ids = torch.zeros(len(texts), len(texts[0]), longest, dtype=torch.long)
        cells = torch.full((*ids.shape, 2), -1)
        lengths = torch.zeros(ids.shape[:2], dtype=torch.long)
        for b, row in enumerate(texts):
            for n, text in enumerate(row):
                lengths[b, n] = len(text)
                if len(text):
                    ids[b, n, : len(text)] = torch.tensor(text.ids)
                    cells[b, n, : len(text)] = torch.tensor(text.cells)
        cells = cells.to(device)
        x = self.bytes(ids.to(device)) + self.places(self._waves(cells.float()))
        named = (cells[..., 0] >= 0).nonzero()
        if len(named):
            where = cells[named[:, 0], named[:, 1], named[:, 2]].clamp_max(63)
            looked = self.look(planes, named[:, 0], where).to(x.dtype)
            x = x.index_put(tuple(named.T), looked, accumulate=True)
        return x, lengths.to(device)

    def run(
        self,
        x: Tensor,
        lengths: Tensor,
        cache: Cache | None = None,
        keep: list[Tensor] | None = None,
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Causal blocks over N branches of one cache.

        Args:
            x: [B, N, T, width], right-padded.
            lengths: real tokens of each branch, [B, N].
            cache: what all branches of a row follow.
            keep: is given the hidden states after every block, if there.

        Returns:
            Hidden states after the last norm [B, N, T, width], and keys and values of each block,
            [B, N, heads, T, width / heads].
        """
        b, n, t, _ = x.shape
        start = (
            torch.zeros(b, device=x.device, dtype=torch.long) if cache is None else cache.lengths
        )
        steps = torch.arange(t, device=x.device)
        turns = self._turns(start[:, None] + steps)[:, None, None]  # [B, 1, 1, T, half]
        causal = torch.where(steps[None, :] <= steps[:, None], 0.0, OUT)
        padding = torch.where(steps < lengths[..., None], 0.0, OUT)
        own = (causal + padding[..., None, None, :]).clamp_min(OUT)  # [B, N, 1, T, T]
        made = []
        for index, block in enumerate(self.blocks):
            q, k, v = block.split(x)
            q, k = _turn(q, turns), _turn(k, turns)
            made.append((k, v))
            if n == 1:
                # Four dimensions, or the fused kernels are not taken.
                keys, values, mask = k[:, 0], v[:, 0], own[:, 0]
                if cache is not None:
                    before = cache.mask[:, None, None].expand(-1, -1, t, -1)
                    keys = torch.cat([cache.layers[index][0], keys], -2)
                    values = torch.cat([cache.layers[index][1], values], -2)
                    mask = torch.cat([before, mask], -1)
                attended = functional.scaled_dot_product_attention(q[:, 0], keys, values, mask)
                attended = attended[:, None]
            else:
                assert cache is not None, "branches follow a cache"
                attended = _branched(q, k, v, own, cache.layers[index], cache.mask)
            x = block.finish(x, attended)
            if keep is not None:
                keep.append(x)
        return self.norm(x), made

    @staticmethod
    def _turns(positions: Tensor) -> Tensor:
        """Rotary angles [..., half of a head's width]."""
        half = HIDDEN // HEADS // 2
        rates = 10_000.0 ** (-torch.arange(half, device=positions.device) / half)
        return positions[..., None] * rates

    def start(self, images: Tensor) -> tuple[Cache, Tensor]:
        """The cache of pictures alone, and their hidden states."""
        visual, planes = self.see(images)
        lengths = torch.full((len(visual), 1), VISUAL, device=visual.device)
        hidden, made = self.run(visual[:, None], lengths)
        layers = [(k[:, 0], v[:, 0]) for k, v in made]
        mask = torch.zeros(len(visual), VISUAL, device=visual.device)
        return Cache(layers, mask, lengths[:, 0], planes), hidden[:, 0]

    def extend(self, cache: Cache, texts: list[Text]) -> tuple[Cache, Tensor]:
        """The cache with a text more in each row, and the hidden states of these."""
        x, lengths = self.read([[text] for text in texts], cache.planes)
        hidden, made = self.run(x, lengths, cache)
        layers = [
            (torch.cat([old_k, k[:, 0]], -2), torch.cat([old_v, v[:, 0]], -2))
            for (old_k, old_v), (k, v) in zip(cache.layers, made, strict=True)
        ]
        steps = torch.arange(x.shape[2], device=x.device)
        padding = torch.where(steps < lengths, 0.0, OUT)
        mask = torch.cat([cache.mask, padding], -1)
        return Cache(layers, mask, cache.lengths + lengths[:, 0], cache.planes), hidden[:, 0]

    def branch(
        self, cache: Cache, tails: list[list[Text]], keep: list[Tensor] | None = None
    ) -> Tensor:
        """The vector [B, N, width] of each tail: the hidden state of its last token.

        ``keep`` is given the last tokens' states after every block, if there.
        """
        x, lengths = self.read(tails, cache.planes)
        kept: list[Tensor] = []
        hidden, _ = self.run(x, lengths, cache, None if keep is None else kept)
        if keep is not None:
            keep.extend(_last(states, lengths) for states in kept)
        return _last(hidden, lengths)

    def plain(self, images: Tensor, texts: list[Text]) -> Tensor:
        """The same without sharing anything: a picture and a whole text a row, [B, width]."""
        visual, planes = self.see(images)
        x, lengths = self.read([[text] for text in texts], planes)
        x = torch.cat([visual[:, None], x], 2)
        hidden, _ = self.run(x, lengths + VISUAL)
        return _last(hidden, lengths + VISUAL)[:, 0]

    def hidden_states(self, images: Tensor, texts: list[Text], layers: int) -> list[Tensor]:
        """Mean over real tokens after each of the last ``layers`` blocks, [B, width] each."""
        visual, planes = self.see(images)
        x, lengths = self.read([[text] for text in texts], planes)
        x = torch.cat([visual[:, None], x], 2)
        kept: list[Tensor] = []
        self.run(x, lengths + VISUAL, keep=kept)
        steps = torch.arange(x.shape[2], device=x.device)
        real = (steps < lengths + VISUAL).float()[..., None]
        return [(h[:, 0] * real).sum(1) / real.sum(1) for h in kept[-layers:]]


def _last(hidden: Tensor, lengths: Tensor) -> Tensor:
    index = (lengths - 1).clamp_min(0)[..., None, None].expand(-1, -1, 1, hidden.shape[-1])
    return hidden.gather(2, index)[:, :, 0]


def _turn(x: Tensor, angles: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    sin, cos = angles.sin(), angles.cos()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)


def _branched(
    q: Tensor, k: Tensor, v: Tensor, own: Tensor, before: tuple[Tensor, Tensor], mask: Tensor
) -> Tensor:
    """Attention of branches [B, N, heads, T, d] to a prefix [B, heads, P, d] and to themselves.

    All branches are one row of queries, so that the prefix is not copied for each; a mask keeps
    them apart. The fused kernel reads what it masks, which is cheap for short tails in chunks.
    """
    b, n, h, t, d = q.shape
    q, k, v = (part.transpose(1, 2).reshape(b, h, n * t, d) for part in (q, k, v))
    apart = torch.full((b, n, t, n, t), OUT, device=q.device)
    index = torch.arange(n, device=q.device)
    apart[:, index, :, index] = own[:, :, 0].transpose(0, 1)
    far = mask[:, None].expand(-1, n * t, -1)
    joined = torch.cat([far, apart.reshape(b, n * t, n * t)], -1)[:, None]
    attended = functional.scaled_dot_product_attention(
        q, torch.cat([before[0], k], -2), torch.cat([before[1], v], -2), joined
    )
    return attended.reshape(b, h, n, t, d).transpose(1, 2)
