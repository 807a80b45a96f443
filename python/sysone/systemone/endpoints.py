"""Where questions can be sent, by name: base URL, key, model and price.

Every environment variable counts as unset when it is empty.
"""

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path


class EndpointError(RuntimeError):
    """The environment does not say all that an endpoint needs."""


@dataclass(frozen=True)
class Endpoint:
    """One kind of server. ``default_base_url`` None: we start the server ourselves."""

    name: str
    display_name: str
    default_model: str
    base_url_env: str | None = None
    default_base_url: str | None = None
    model_env: str | None = None
    key_envs: tuple[str, ...] = ()
    key_needed: bool = False
    usd_per_input_token: float = 0.0
    max_options: int | None = None
    """Options one Choice may have; None: no known limit."""

    def base_url(self, environ: Mapping[str, str] = os.environ) -> str | None:
        """The address from the environment or the default, without a slash at the end."""
        chosen = environ.get(self.base_url_env, "") if self.base_url_env else ""
        url = chosen.strip() or self.default_base_url
        return url.rstrip("/") if url else None

    def model(self, environ: Mapping[str, str] = os.environ) -> str:
        """The model's name from the environment or the default."""
        chosen = environ.get(self.model_env, "") if self.model_env else ""
        return chosen.strip() or self.default_model

    def api_key(self, environ: Mapping[str, str] = os.environ) -> str | None:
        """The first key that is set; `EndpointError` if one is needed and none is."""
        for variable in self.key_envs:
            key = environ.get(variable, "").strip()
            if key:
                return key
        if self.key_needed:
            first, *others = self.key_envs
            more = f" (or {', '.join(others)})" if others else ""
            raise EndpointError(f"{self.display_name} needs {first}{more}, e.g. in <repo>/.env")
        return None


ENDPOINTS = {
    endpoint.name: endpoint
    for endpoint in (
        Endpoint(
            name="clm",
            display_name="CLM",
            base_url_env="CLM_BASE_URL",
            default_base_url="http://127.0.0.1:8700",
            default_model="clm-latest",
            key_envs=("CLM_API_KEY",),
        ),
        Endpoint(
            name="jev",
            display_name="Jev",
            base_url_env="TYPESAFE_BASE_URL",
            default_base_url="https://api.typesafe.ai",
            default_model="jev-latest",
            model_env="TYPESAFE_MODEL",
            key_envs=("TYPESAFE_API_KEY", "JEV_API_KEY"),
            key_needed=True,
            # TypeSafe's published price: 0.042 USD per million input tokens.
            usd_per_input_token=0.042 / 1_000_000,
            max_options=255,
        ),
        Endpoint(name="local", display_name="Local", default_model="trex"),
    )
}


def load_env(path: Path, environ: MutableMapping[str, str] = os.environ) -> dict[str, str]:
    """Export the ``KEY=VALUE`` lines of a file; variables that are set already win.

    Empty lines, ``#`` lines and lines without ``=`` are skipped; one pair of quotes round a
    value is removed. A file that is not there exports nothing. Returns what was exported.
    """
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise EndpointError(f"{path}: cannot be read: {error}") from None
    exported = {}
    for line in text.splitlines():
        key, equals, value = line.strip().removeprefix("export ").partition("=")
        key = key.strip()
        if not equals or not key or key.startswith("#") or key in environ:
            continue
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        environ[key] = exported[key] = value
    return exported
