"""A season's whole book of rules: what the core reads, and its fingerprints."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import resources
from typing import Any

from sysone.arena.rules import models, settings
from sysone.arena.rules.settings import Season, Value
from sysone_core import arena as core


@dataclass(frozen=True)
class Book:
    """The rules of one match: a season with changed settings."""

    season: Season
    changes: Mapping[str, Value]

    @classmethod
    def of(cls, season: Season, changes: Mapping[str, Any] | None = None) -> "Book":
        """The book of a season; ``changes`` are checked, and what equals a default is dropped."""
        resolved = settings.resolve(season, changes or {})
        plain = settings.defaults(season)
        return cls(season, {k: v for k, v in resolved.items() if v != plain[k]})

    @cached_property
    def settings(self) -> dict[str, Value]:
        """All settings."""
        return settings.resolve(self.season, self.changes)

    @cached_property
    def models(self) -> list[dict[str, Any]]:
        """All models, resolved."""
        return models.resolve(self.season, self.settings)

    @cached_property
    def field(self) -> dict[str, Any]:
        """The field file."""
        loaded: dict[str, Any] = json.loads(settings.data("field.json"))
        return loaded

    @property
    def duration_s(self) -> int:
        """The season's length of a match."""
        value = self.settings["duration_s"]
        assert isinstance(value, int)
        return value

    @cached_property
    def text(self) -> str:
        """The JSON that the core reads."""
        return json.dumps(
            {
                "season": self.season,
                "settings": self.settings,
                "models": self.models,
                "field": self.field,
            }
        )

    @cached_property
    def compiled(self) -> core.Rules:
        """The rules in the core, with the rasterised field."""
        return _compiled(self.text)

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """Engine, rules, SDK and field, for runs and replays."""
        field = settings.data("field.json")
        whole = settings.canonical(
            {
                "settings": settings.defaults(self.season),
                "models": models.resolve(self.season, settings.defaults(self.season)),
                "field": hashlib.sha256(field).hexdigest(),
            }
        )
        return {
            "engine": f"arena-core {core.VERSION} {core.SOURCES_SHA256}",
            "rules": hashlib.sha256(whole.encode()).hexdigest(),
            "sdk": _sdk_fingerprint(),
            "field": hashlib.sha256(field).hexdigest(),
        }

    @cached_property
    def settings_hash(self) -> str:
        """SHA-256 of all settings."""
        return hashlib.sha256(settings.canonical(self.settings).encode()).hexdigest()


@cache
def _sdk_fingerprint() -> str:
    """SHA-256 over the names and contents of the public SDK's files."""
    digest = hashlib.sha256()
    folder = resources.files("sysone.arena").joinpath("sdk")
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".py"):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            digest.update(f"{file.name}\0{content}\n".encode())
    return digest.hexdigest()


@lru_cache(maxsize=8)
def _compiled(text: str) -> core.Rules:
    # Rasterising takes some 80 ms; the core's rules never change, so that matches can share them.
    return core.Rules(text)
