from pathlib import Path

import pytest

from sysone.systemone import ENDPOINTS, EndpointError, load_env


def test_defaults() -> None:
    clm, jev, local = (ENDPOINTS[name] for name in ("clm", "jev", "local"))
    assert clm.base_url({}) == "http://127.0.0.1:8700"
    assert jev.base_url({}) == "https://api.typesafe.ai"
    assert local.base_url({}) is None
    assert [e.model({}) for e in (clm, jev, local)] == ["clm-latest", "jev-latest", "trex"]
    assert clm.api_key({}) is None
    assert [e.display_name for e in (clm, jev, local)] == ["CLM", "Jev", "Local"]
    assert jev.usd_per_input_token == 0.042 / 1_000_000


def test_environment_overrides_and_empty_counts_as_unset() -> None:
    jev = ENDPOINTS["jev"]
    environ = {"TYPESAFE_BASE_URL": "http://x:1/", "TYPESAFE_MODEL": "jev-3", "JEV_API_KEY": "k"}
    assert (jev.base_url(environ), jev.model(environ), jev.api_key(environ)) == (
        "http://x:1",
        "jev-3",
        "k",
    )
    assert jev.api_key({"TYPESAFE_API_KEY": "first", "JEV_API_KEY": "k"}) == "first"
    empty = {"TYPESAFE_BASE_URL": "", "TYPESAFE_MODEL": " ", "TYPESAFE_API_KEY": ""}
    assert (jev.base_url(empty), jev.model(empty)) == ("https://api.typesafe.ai", "jev-latest")


def test_a_needed_key_is_asked_for_by_name() -> None:
    with pytest.raises(EndpointError) as caught:
        ENDPOINTS["jev"].api_key({})
    assert str(caught.value) == ("Jev needs TYPESAFE_API_KEY (or JEV_API_KEY), e.g. in <repo>/.env")


def test_env_file_exports_what_is_not_set(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text('# keys\nA=1\nexport B = "two words"\nC=from file\n\nno assignment\nD=a=b\n')
    environ = {"C": "already"}
    assert load_env(path, environ) == {"A": "1", "B": "two words", "D": "a=b"}
    assert environ == {"A": "1", "B": "two words", "C": "already", "D": "a=b"}
    assert load_env(tmp_path / "missing", environ) == {}


def test_unreadable_env_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(b"A=\xff")
    with pytest.raises(EndpointError, match=r"\.env"):
        load_env(path, {})
