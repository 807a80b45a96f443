"""A Ray cluster of two nodes on this machine, for tests that need one."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class TwoNodes:
    """A head and a second node, one processor each; the second can be killed and replaced."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self._second = cluster.add_node(num_cpus=1)

    @property
    def address(self) -> str:
        """HOST:PORT of the head."""
        return str(self._cluster.address)

    @property
    def second(self) -> str:
        """Identity of the second node."""
        return str(self._second.node_id)

    def kill_second(self) -> None:
        """Take the second node away without a farewell."""
        self._cluster.remove_node(self._second, allow_graceful=False)

    def replace_second(self) -> None:
        """Bring another one, if the last one was killed."""
        if self._second not in self._cluster.list_all_nodes():
            self._second = self._cluster.add_node(num_cpus=1)


@contextmanager
def two_nodes() -> Iterator[TwoNodes]:
    """The cluster, while it is needed; this process takes no part in it of itself."""
    cluster_utils = pytest.importorskip("ray.cluster_utils", reason="needs the cluster extra")
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    cluster = cluster_utils.Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 1,
            "include_dashboard": False,
            # So that a killed node is missed within seconds.
            "_system_config": {"health_check_period_ms": 500, "health_check_timeout_ms": 3000},
        },
    )
    try:
        yield TwoNodes(cluster)
    finally:
        cluster.shutdown()
        for number, handler in before.items():
            signal.signal(number, handler)
