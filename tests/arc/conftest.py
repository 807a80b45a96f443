"""Without the mark ``learn`` a test of ARC sees a machine without PyTorch, whatever it has."""

import pytest

from sysone.arc import models


@pytest.fixture(autouse=True)
def torch_is_for_learning(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("learn") is None:
        monkeypatch.setattr(models, "has_torch", lambda: False)
