"""Fixtures of the drive tests."""

import pytest

from sysone.drive.clientmap import client


@pytest.fixture(scope="session", params=["own", "carla"] if client() else ["own"])
def map_reader(request: pytest.FixtureRequest) -> str:
    """Who answers map queries: the own reader, and the carla client where one is installed."""
    found: str = request.param
    return found
