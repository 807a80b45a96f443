"""Qwen3-VL through transformers as the backbone: own packer, LoRA, shared prefix.

Its own processor needs torchvision for the video part; the packer here needs only the picture
part and the tokenizer: vision-start, one pad a visual token, vision-end, then the text.
"""

import inspect
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch

from sysone.arc.system1.backend import WORTH, chunks, common, refuse_long
from sysone.arc.system1.leaf import Question
from sysone.arc.vision import to_pil
from sysone.runs.errors import RunError

Tensor = Any
STUDENT: Final = "Qwen/Qwen3-VL-2B-Instruct"
TEACHER: Final = "Qwen/Qwen3.5-9B"
SCALE: Final = 4
"""256x256: 64 visual tokens with patches of 16 that are merged two by two."""
MAX_TOKENS: Final = 8192
OUT: Final = -1e9
TARGETS: Final = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
TORCHAO_ABOVE: Final = (0, 16)
"""transformers refuses an installed torchao up to this version while it loads Qwen3-VL."""


def torchao_trouble(version: str | None = None) -> str | None:
    """What is wrong with an installed torchao, and the remedy; None where nothing is."""
    if version is None:
        from importlib import metadata

        try:
            version = metadata.version("torchao")
        except metadata.PackageNotFoundError:
            return None
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if len(numbers) == 2 and numbers > TORCHAO_ABOVE:
        return None
    return (
        f"torchao {version} is installed, and transformers takes only versions above 0.16 with "
        "Qwen3-VL; upgrade it (pip install -U 'torchao>0.16', 0.18.0 is known to work) or remove it"
    )


class HfBackend:
    """A vision-language model of transformers."""

    name = "hf"
    compact = False

    def __init__(
        self,
        model: str | Path = "",
        *,
        device: str = "cpu",
        lora: tuple[int, int] | None = None,
        adapter: Path | None = None,
        freeze_vision: bool = False,
        four_bit: bool = False,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        """Load a folder of save_pretrained or a name of a hub.

        Args:
            model: folder or name; empty for the default student.
            device: where to.
            lora: rank and alpha of fresh adapters, which are then what is trained.
            adapter: a folder of trained adapters, merged for inference.
            freeze_vision: keep the vision tower as it is.
            four_bit: quantise; on CUDA alone.
            max_tokens: of a leaf.

        Raises:
            RunError: it cannot be loaded; the text says why and what helps.
        """
        trouble = torchao_trouble()
        if trouble:
            raise RunError(trouble)
        try:
            from transformers import AutoModelForImageTextToText, AutoTokenizer
            from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import (
                Qwen2VLImageProcessorPil,
            )
        except ImportError as error:
            raise RunError(f"backend hf: {error}; pip install 'sysone-core[hf]'") from None
        self.base = str(model or STUDENT)
        options: dict[str, Any] = {"trust_remote_code": False}
        local = Path(self.base).is_dir()
        if local:
            options["local_files_only"] = True
        extra: dict[str, Any] = {}
        if device.startswith("cuda"):
            extra["dtype"] = torch.bfloat16
        if four_bit:
            from transformers import BitsAndBytesConfig

            extra["quantization_config"] = BitsAndBytesConfig(
                load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16
            )
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(self.base, **options)
            whole = AutoModelForImageTextToText.from_pretrained(self.base, **options, **extra)
        except (OSError, ValueError, ImportError) as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else ""
            raise RunError(f"backend hf: {self.base} cannot be loaded: {first}") from None
        config = whole.config
        vision = config.vision_config
        self._pack = Qwen2VLImageProcessorPil(
            patch_size=vision.patch_size,
            temporal_patch_size=vision.temporal_patch_size,
            merge_size=vision.spatial_merge_size,
            image_mean=[0.5, 0.5, 0.5],
            image_std=[0.5, 0.5, 0.5],
            size={"shortest_edge": (64 * SCALE) ** 2, "longest_edge": (64 * SCALE) ** 2},
        )
        self._merge = vision.spatial_merge_size**2
        self._image_id = config.image_token_id
        self._around = (config.vision_start_token_id, config.vision_end_token_id)
        self.lora = lora is not None
        if adapter is not None:
            from peft import PeftModel

            whole = PeftModel.from_pretrained(whole, str(adapter)).merge_and_unload()
        if lora is not None:
            from peft import LoraConfig, get_peft_model

            rank, alpha = lora
            adapters = LoraConfig(r=rank, lora_alpha=alpha, target_modules=list(TARGETS))
            whole = get_peft_model(whole, adapters)
        if freeze_vision:
            for name, weight in whole.named_parameters():
                if "visual" in name:
                    weight.requires_grad_(False)
        if not four_bit:
            whole.to(device)
        self.module = whole
        self.hidden = int(config.text_config.hidden_size)
        self.max_tokens = max_tokens
        self.paths: Counter[str] = Counter()

    @property
    def _core(self) -> Any:
        """The model without its language head."""
        found = (
            self.module.get_base_model() if hasattr(self.module, "get_base_model") else self.module
        )
        return found.model

    def device(self) -> Any:
        """Where the weights are."""
        return next(self.module.parameters()).device

    def trainable_parameters(self) -> list[Any]:
        """Adapters where there are any, else all that is not frozen."""
        return [weight for weight in self.module.parameters() if weight.requires_grad]

    def save_lora(self, folder: Path) -> None:
        """Write the adapters in peft's layout; nothing without any."""
        if self.lora:
            self.module.save_pretrained(str(folder))

    def merge(self) -> None:
        """Merge the adapters into the weights, for inference."""
        if self.lora:
            self.module = self.module.merge_and_unload()
            self.lora = False

    def _ids(self, text: str) -> list[int]:
        found: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return found

    def _picture(self, grid: Any) -> tuple[Tensor, Tensor, list[int]]:
        """Pixel values, (t, h, w) in patches, and the picture's tokens."""
        return self._packed(to_pil(grid, SCALE).convert("RGB"))

    def _packed(self, picture: Any) -> tuple[Tensor, Tensor, list[int]]:
        packed = self._pack(images=[picture], return_tensors="pt")
        thw = packed["image_grid_thw"]
        count = int(thw[0].prod()) // self._merge
        start, end = self._around
        ids = [start, *[self._image_id] * count, end]
        return packed["pixel_values"], thw, ids

    def length(self, question: Question) -> int:
        """Tokens of the longest leaf, 64 visual ones, their borders and the end included."""
        shared = len(self._ids(question.state_part)) + len(self._ids(question.question_part))
        return 66 + shared + max(len(self._ids(tail)) for tail in question.tails) + 1

    def encode(self, image: Any, texts: Sequence[str]) -> Tensor:
        """Vectors of whole texts on one grid, each with a picture of its own."""
        end = [self._tokenizer.eos_token_id]
        return self._plain(image, [self._ids(text) + end for text in texts])

    def _inputs(self, grid: Any, rows: Sequence[list[int]]) -> dict[str, Any]:
        """Rows of tokens behind a picture each, right-padded, with all that the model takes."""
        pixels, thw, picture = self._picture(grid)
        device = self.device()
        longest = len(picture) + max(map(len, rows))
        ids = torch.zeros(len(rows), longest, dtype=torch.long)
        real = torch.zeros(len(rows), longest, dtype=torch.long)
        for index, row in enumerate(rows):
            ids[index, : len(picture) + len(row)] = torch.tensor(picture + row)
            real[index, : len(picture) + len(row)] = 1
        kinds = (ids == self._image_id).int()
        thw = thw.repeat(len(rows), 1)
        known = inspect.signature(self._core.get_rope_index).parameters
        arguments = {
            "mm_token_type_ids": kinds,
            "image_grid_thw": thw,
            "attention_mask": real,
        }
        positions, _ = self._core.get_rope_index(
            ids, **{key: value for key, value in arguments.items() if key in known}
        )
        steps = torch.arange(longest)
        causal = torch.where(steps[None, :] <= steps[:, None], 0.0, OUT)
        mask = (causal + torch.where(real[:, None, :] > 0, 0.0, OUT)).clamp_min(OUT)[:, None]
        found = {
            "input_ids": ids,
            "pixel_values": pixels.repeat(len(rows), 1),
            "image_grid_thw": thw,
            "position_ids": positions,
            "attention_mask": mask.to(self._dtype()),
        }
        if "mm_token_type_ids" in inspect.signature(self._core.forward).parameters:
            found["mm_token_type_ids"] = kinds
        return {key: value.to(device) for key, value in found.items()}

    def _dtype(self) -> Any:
        return next(self.module.parameters()).dtype

    def _plain(self, grid: Any, rows: Sequence[list[int]]) -> Tensor:
        inputs = self._inputs(grid, rows)
        hidden = self._core(**inputs, use_cache=False).last_hidden_state
        before = inputs["input_ids"].shape[1] - max(map(len, rows))
        last = torch.tensor([before + len(row) - 1 for row in rows], device=hidden.device)
        return hidden[torch.arange(len(rows), device=hidden.device), last]

    def generate(
        self, pictures: Sequence[Any], texts: Sequence[str], new_tokens: int, ends_s: float
    ) -> str:
        """Greedy text after a chat; texts stand before, between and after the pictures."""
        ids = self._ids(texts[0])
        pixels, grids_ = [], []
        for picture, text in zip(pictures, texts[1:], strict=True):
            values, thw, tokens = self._packed(picture)
            ids += tokens + self._ids(text)
            pixels.append(values)
            grids_.append(thw)
        tokens_ = torch.tensor([ids])
        inputs: dict[str, Any] = {
            "input_ids": tokens_,
            "attention_mask": torch.ones_like(tokens_),
        }
        if pixels:
            inputs["pixel_values"] = torch.cat(pixels)
            inputs["image_grid_thw"] = torch.cat(grids_)
            if "mm_token_type_ids" in inspect.signature(self._core.forward).parameters:
                inputs["mm_token_type_ids"] = (tokens_ == self._image_id).int()
        inputs = {key: value.to(self.device()) for key, value in inputs.items()}
        made = self.module.generate(
            **inputs,
            max_new_tokens=new_tokens,
            do_sample=False,
            stopping_criteria=[lambda *_, **__: time.monotonic() > ends_s],
        )
        text = self._tokenizer.decode(made[0, len(ids) :], skip_special_tokens=True)
        return str(text)

    def hidden_states(self, images: Sequence[Any], texts: Sequence[str], layers: int) -> list[Any]:
        """Pooled states of the last layers, row by row."""
        found = []
        for grid, text in zip(images, texts, strict=True):
            inputs = self._inputs(grid, [self._ids(text)])
            states = self._core(**inputs, use_cache=False, output_hidden_states=True).hidden_states
            found.append([state[0].float().mean(0) for state in states[-layers:]])
        return [torch.stack(rows) for rows in zip(*found, strict=True)]

    def vectors(
        self, questions: Sequence[Question], leaf_batch: int = 64, shared: bool | None = None
    ) -> list[Tensor]:
        """Vectors of every leaf, question by question."""
        refuse_long(self, questions)
        return [self._one(question, leaf_batch, shared) for question in questions]

    def _one(self, question: Question, leaf_batch: int, shared: bool | None) -> Tensor:
        end = [self._tokenizer.eos_token_id]
        # The three parts are tokenised apart, or no prefix would be common to all leaves.
        prefix = self._ids(question.state_part) + self._ids(question.question_part)
        tails = [self._ids(tail) + end for tail in question.tails]
        before = 66 + len(prefix)
        plain_cost = sum(before + len(tail) for tail in tails)
        shared_cost = before + sum(map(len, tails))
        share = plain_cost > WORTH * shared_cost if shared is None else shared
        self.paths["shared" if share else "plain"] += 1
        if not share:
            rows = [prefix + tail for tail in tails]
            return torch.cat(
                [self._plain(question.grid, part) for part in chunks(rows, leaf_batch)]
            )
        same = common(tails)
        inputs = self._inputs(question.grid, [prefix + tails[0][:same]])
        out = self._core(**inputs, use_cache=True)
        made = getattr(out, "cache", None) or out.past_key_values
        next_position = int(inputs["position_ids"].max()) + 1
        rest = [tail[same:] for tail in tails]
        return torch.cat(
            [self._branches(made, next_position, part) for part in chunks(rest, leaf_batch)]
        )

    def _branches(self, made: Any, position: int, tails: Sequence[list[int]]) -> Tensor:
        from transformers import DynamicCache

        device = self.device()
        count, longest = len(tails), max(map(len, tails))
        copied = DynamicCache()
        for index, layer in enumerate(made.layers):
            keys = layer.keys.expand(count, -1, -1, -1)
            copied.update(keys, layer.values.expand(count, -1, -1, -1), index)
        length = made.layers[0].keys.shape[-2]
        ids = torch.zeros(count, longest, dtype=torch.long)
        for index, tail in enumerate(tails):
            ids[index, : len(tail)] = torch.tensor(tail)
        steps = torch.arange(longest)
        causal = torch.where(steps[None, :] <= steps[:, None], 0.0, OUT)
        mask = torch.cat([torch.zeros(longest, length), causal], -1).expand(count, 1, -1, -1)
        positions = (position + steps).expand(3, count, -1)
        taken = inspect.signature(self._core.forward).parameters
        name = "cache" if "cache" in taken else "past_key_values"
        hidden = self._core(
            input_ids=ids.to(device),
            attention_mask=mask.to(device, self._dtype()),
            position_ids=positions.to(device),
            use_cache=True,
            **{name: copied},
        ).last_hidden_state
        last = torch.tensor([len(tail) - 1 for tail in tails], device=device)
        return hidden[torch.arange(count, device=device), last]
