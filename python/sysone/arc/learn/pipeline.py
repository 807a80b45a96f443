"""``sysone arc train``: the stages in their order, each stamped with what it was made from."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import torch

from sysone.arc.config import Config
from sysone.arc.learn.align import Teacher, align
from sysone.arc.learn.calibrate import calibrate
from sysone.arc.learn.decide import fitting, train_heads
from sysone.arc.learn.facts import FactsTeacher
from sysone.arc.learn.rows import read_rows
from sysone.arc.system1 import checkpoint
from sysone.arc.system1.model import System1Model, fresh
from sysone.runs.atomic import write_bytes, write_json
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

STAGES: Final = ("prep", "a", "b", "c")
PARTS: Final = ("train", "valid", "calibration")
FINAL: Final = "checkpoint"


class Settings(msgspec.Struct, frozen=True):
    """What a training is made with beside the configuration."""

    data: str
    work: str
    stages: list[str]
    init: str = ""
    """A checkpoint to begin with; empty: fresh weights."""
    backend: str = "tiny"
    seed: int = 0
    max_steps: int = 0
    """Of each of the stages A and B at most; 0: as configured."""
    device: str = "cpu"
    force: bool = False
    """Load a large backbone even where it does not fit."""


class Training:
    """One work folder."""

    def __init__(self, settings: Settings, config: Config, progress: Progress) -> None:
        unknown = [stage for stage in settings.stages if stage not in STAGES]
        if unknown or not settings.stages:
            raise RunError(
                f"--stages is {','.join(settings.stages)!r}, expected some of {','.join(STAGES)}"
            )
        self.settings, self.config, self.progress = settings, config, progress
        self.work, self.data = Path(settings.work), Path(settings.data)
        missing = [part for part in PARTS if not (self.data / f"{part}.jsonl").is_file()]
        if missing:
            raise RunError(
                f"{self.data} has no {missing[0]}.jsonl; sysone arc build-data --out {self.data} "
                "makes it"
            )
        self.rows = {part: list(read_rows(self.data / f"{part}.jsonl")) for part in PARTS}
        if not self.rows["train"]:
            raise RunError(f"{self.data}/train.jsonl holds no rows")

    def run(self) -> dict[str, Any]:
        """Every stage that is asked for and not stamped; what each of them reported.

        Raises:
            RunError: a stage fails, or a large backbone cannot fit; that is said before any.
        """
        report: dict[str, Any] = {}
        checked = False
        for stage in STAGES:
            if stage not in self.settings.stages:
                continue
            stamp = self.work / "done" / f"{stage}.stamp"
            digest = self._digest(stage)
            old = _json(stamp)
            if old.get("digest") == digest:
                self.progress.note(f"stage {stage}: done before, kept")
                report[stage] = old["report"]
                continue
            if not checked:
                self._check_room(stage)
                checked = True
            trace = self._scratch(stage, digest)
            report[stage] = getattr(self, f"_{stage}")(trace)
            write_json(stamp, {"digest": digest, "report": report[stage]}, indent=1)
            trace.unlink(missing_ok=True)
        return report

    def _digest(self, stage: str) -> str:
        """Of all that a stage depends on: data, settings, and what the stage before it made."""
        hashed = hashlib.sha256()
        settings = msgspec.structs.asdict(self.settings)
        for key in ("work", "stages", "data", "device", "force"):
            settings.pop(key)
        sections = {"a": "stage_a_distill", "b": "stage_b", "c": "stage_c"}
        own = getattr(self.config, sections[stage], None) if stage in sections else None
        system1 = self.config.system1
        for part in (settings, msgspec.to_builtins(system1), msgspec.to_builtins(own)):
            hashed.update(json.dumps(part, sort_keys=True).encode())
        for part in PARTS:
            hashed.update((self.data / f"{part}.jsonl").read_bytes())
        for earlier in STAGES[: STAGES.index(stage)]:
            hashed.update(
                str(_json(self.work / "done" / f"{earlier}.stamp").get("digest")).encode()
            )
        return hashed.hexdigest()

    def _scratch(self, stage: str, digest: str) -> Path:
        """The stage's own checkpoint, of these very inputs: another's is removed."""
        path = self.work / "going" / f"{stage}.safetensors"
        mark = path.with_suffix(".digest")
        if path.exists() and (not mark.exists() or mark.read_text() != digest):
            path.unlink()
        write_bytes(mark, digest.encode())
        return path

    def _model(self, folder: str) -> System1Model:
        path = self.work / folder
        if not path.is_dir():
            raise RunError(f"{path} is missing; run the stage before first")
        return checkpoint.load(path, device=self.settings.device)

    def _check_room(self, stage: str) -> None:
        """Say what the backbone takes, before the first of the stages that are to do."""
        settings, system1 = self.settings, self.config.system1
        base = ""
        if stage != "prep" or settings.init:
            from sysone.arc.weights.source import resolve

            folder = self.work / "start" if stage != "prep" else Path(resolve(settings.init))
            if not folder.is_dir():
                return  # The stage itself says so.
            record = checkpoint.read_record(folder)
            base = str(record.get("base", "")) if record["backend"] == "hf" else ""
        elif settings.backend == "hf":
            from sysone.arc.system1.hf import STUDENT

            base = system1.model or STUDENT
        if not base:
            return
        from sysone.arc.system1.room import FOUR_BIT, TRAINED, check_room

        due = {later for later in STAGES[STAGES.index(stage) :] if later in settings.stages}
        beside = None
        if "a" in due:
            beside = self._large_teacher(), FOUR_BIT if self._four_bit() else 1.0
        check_room(
            f"training {base}",
            base,
            settings.device,
            settings.force,
            times=TRAINED["lora" if system1.lora else "all"] if due & {"a", "b"} else 1.0,
            beside=beside,
            note=self.progress.note,
        )

    def _large_teacher(self) -> str:
        from sysone.arc.system1.hf import TEACHER

        return self.config.stage_a_distill.teacher_model or TEACHER

    def _four_bit(self) -> bool:
        return self.config.stage_a_distill.teacher_4bit and self.settings.device.startswith("cuda")

    def _steps(self, configured: int) -> int:
        limit = self.settings.max_steps
        return min(configured, limit) if limit else configured

    def _prep(self, trace: Path) -> dict[str, Any]:
        settings, system1 = self.settings, self.config.system1
        if settings.init:
            from sysone.arc.weights.source import resolve

            model = checkpoint.load(resolve(settings.init), device=settings.device)
        elif settings.backend == "hf":
            model = fresh(
                "hf",
                settings.seed,
                device=settings.device,
                model=system1.model,
                lora=(system1.lora_r, system1.lora_alpha) if system1.lora else None,
                freeze_vision=system1.freeze_vision_tower,
            )
        else:
            model = fresh("tiny", settings.seed, device=settings.device)
        checkpoint.save(model, self.work / "start")
        rows = {part: len(found) for part, found in self.rows.items()}
        return {"init": settings.init or "fresh", "rows": rows}

    def _a(self, trace: Path) -> dict[str, Any]:
        from safetensors.torch import save

        config = self.config.stage_a_distill
        config = msgspec.structs.replace(config, steps=self._steps(config.steps))
        model = self._model("start")
        teacher = self._teacher(model)
        rows = fitting(model, self.rows["train"], self.config.stage_b.max_tokens)
        losses, projections = align(
            model.backend, teacher, rows, config, trace, self.settings.seed, self.progress
        )
        tensors = {f"projections.{k}": v for k, v in projections.state_dict().items()}
        if model.backend.name == "tiny":
            state = model.backend.module.state_dict()
            tensors |= {f"student.{key}": value for key, value in state.items()}
        write_bytes(
            self.work / "stage_a.safetensors",
            save({key: value.detach().cpu().contiguous() for key, value in tensors.items()}),
        )
        checkpoint.save(model, self.work / "aligned")
        return _curve(losses) | {"teacher": config.teacher_model or teacher.name}

    def _teacher(self, model: System1Model) -> Teacher:
        config = self.config.stage_a_distill
        if model.backend.name == "hf":
            from sysone.arc.system1.hf import HfBackend

            return HfBackend(
                model=self._large_teacher(),
                device=self.settings.device,
                four_bit=self._four_bit(),
            )
        if config.teacher_model:
            from sysone.arc.weights.source import resolve

            return checkpoint.load(resolve(config.teacher_model)).backend
        return FactsTeacher(self.settings.device)

    def _b(self, trace: Path) -> dict[str, Any]:
        config = self.config.stage_b
        aligned = (self.work / "stage_a.safetensors").is_file()
        self.progress.note(
            f"stage B begins with {'the aligned student' if aligned else 'stage prep'}"
        )
        model = self._model("aligned" if aligned else "start")
        rows = fitting(model, self.rows["train"], config.max_tokens)
        if not rows:
            raise RunError(f"stage_b.max_tokens is {config.max_tokens}, and no row is that short")
        steps = self._steps(config.epochs * max(1, len(rows) // config.batch))
        losses = train_heads(model, rows, config, trace, self.settings.seed, steps, self.progress)
        model.record |= {"stage_a": aligned, "stage_b_steps": steps, "stage_b_rows": len(rows)}
        checkpoint.save(model, self.work / "trained")
        left_out = len(self.rows["train"]) - len(rows)
        return _curve(losses) | {"aligned": aligned, "rows": len(rows), "too_long": left_out}

    def _c(self, trace: Path) -> dict[str, Any]:
        model = self._model("trained")
        config = self.config.stage_c
        parts = {
            part: fitting(model, rows, self.config.stage_b.max_tokens)
            for part, rows in self.rows.items()
        }
        report = calibrate(
            model,
            parts["train"],
            parts["calibration"],
            parts["valid"],
            config,
            self.settings.seed,
            self.progress,
        )
        model.record |= {
            "seed": self.settings.seed,
            "config": msgspec.to_builtins(self.config),
            "torch": str(torch.__version__).partition("+")[0],
            "dataset": _json(self.data / "dataset.json"),
        }
        digest = checkpoint.save(model, self.work / FINAL)
        write_json(self.work / "calibration.json", report, indent=1)
        return report | {"checkpoint": str(self.work / FINAL), "sha256": digest}


def _curve(losses: Sequence[float]) -> dict[str, Any]:
    tenth = max(1, len(losses) // 10)
    return {
        "steps": len(losses),
        "first_loss": round(sum(losses[:tenth]) / tenth, 4),
        "last_loss": round(sum(losses[-tenth:]) / tenth, 4),
    }


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
