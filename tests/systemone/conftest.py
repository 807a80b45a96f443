from collections.abc import Iterator

import pytest

from sysone.systemone import Engine, local_server


@pytest.fixture(scope="session")
def engine() -> Engine:
    return Engine()


@pytest.fixture(scope="session")
def base_url() -> Iterator[str]:
    with local_server() as url:
        yield url
