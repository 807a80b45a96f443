"""Two Ray nodes on this machine: results, faults, a lost node, nodes that are not like us."""

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sysone.executors import ATTEMPTS, EngineError, Executor, collect, executor_of, shipped
from sysone.executors.base import Finished
from sysone.executors.installation import installation
from tests.ray_nodes import TwoNodes, two_nodes

pytestmark = [
    pytest.mark.cluster,
    # Ray says so of itself, where no accelerator is seen.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def work(item: Any, stopping: Callable[[], bool]) -> Any:
    """What the tests' items ask for."""
    kind, value = item
    if kind == "square":
        return value**2
    if kind == "where":
        import ray

        time.sleep(value)
        return ray.get_runtime_context().get_node_id()
    if kind == "raise":
        raise ValueError(value)
    if kind == "echo":
        return value
    if kind == "read":
        return shipped.path_of(value).read_bytes()
    if kind == "die":
        os.kill(os.getpid(), value)
    while not stopping():
        time.sleep(0.01)
    return "stopped"


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoNodes]:
    with two_nodes() as found:
        yield found


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def executor(cluster: TwoNodes, notes: list[str]) -> Iterator[Executor]:
    cluster.replace_second()
    found = executor_of("ray", work, 2, address=cluster.address, note=notes.append)
    yield found
    found.close()


def ended(executor: Executor, items: list[tuple[str, Any]]) -> dict[int, Finished]:
    return {one.place: one for one in collect(executor, len(items), lambda place: items[place])}


def until(executor: Executor, holds: Callable[[], bool]) -> None:
    while not holds():
        executor.wait(0.1)


def test_results_come_with_their_places_from_both_nodes(executor: Executor) -> None:
    until(executor, lambda: executor.slots == 2)
    found = ended(executor, [("square", 3), ("where", 1.0), ("where", 1.0), ("raise", "why")])
    assert found[0].result == 9
    assert found[1].result != found[2].result
    assert found[3] == Finished(3, None, "ValueError: why")


def test_large_items_and_results_pass_each_other(executor: Executor) -> None:
    found = ended(executor, [("echo", bytes(3_000_000))] * 6)
    assert all(one.result == bytes(3_000_000) for one in found.values())


def test_work_is_asked_to_stop(executor: Executor) -> None:
    executor.submit(0, ("until told", None))
    executor.stop()
    found: list[Finished] = []
    while not found:
        found = executor.wait(5.0)
    assert found == [Finished(0, "stopped", None)]


def test_work_that_kills_its_process_is_tried_three_times(executor: Executor) -> None:
    begun = []
    found = list(collect(executor, 1, lambda place: begun.append(place) or ("die", 9)))
    assert len(begun) == ATTEMPTS
    assert found[0].lost
    assert "WorkerCrashedError" in str(found[0].error)


def test_work_of_a_node_that_dies_is_done_by_another(
    executor: Executor, cluster: TwoNodes, notes: list[str]
) -> None:
    until(executor, lambda: executor.slots == 2)
    items = [("where", 2.0)] * 6
    killed = False
    found = []
    for one in collect(executor, len(items), lambda place: items[place]):
        found.append(one)
        if not killed:
            killed = True
            cluster.kill_second()
    assert sorted(one.place for one in found) == list(range(6))
    assert all(one.error is None for one in found)
    assert any("is gone" in note for note in notes)
    assert sum(one.result == cluster.second for one in found) <= 1


def test_a_node_that_joins_later_is_used(executor: Executor, cluster: TwoNodes) -> None:
    cluster.kill_second()
    until(executor, lambda: executor.slots == 1)
    cluster.replace_second()
    until(executor, lambda: executor.slots == 2)


def version(there: str) -> dict[str, str]:
    """Another one on the node ``there``; no package at all on any where it is empty."""
    import ray

    if not ray.is_initialized():
        return {"version": "0.1.0"}
    if not there:
        raise ModuleNotFoundError("No module named 'sysone'")
    return {"version": "0.0.9" if ray.get_runtime_context().get_node_id() == there else "0.1.0"}


def test_nodes_that_are_not_like_us_are_left_out(cluster: TwoNodes, notes: list[str]) -> None:
    cluster.replace_second()
    second = cluster.second
    executor = executor_of(
        "ray",
        work,
        2,
        address=cluster.address,
        facts=partial(version, second),
        note=notes.append,
    )
    try:
        until(executor, lambda: bool(notes) and executor.slots == 1)
        assert "is left out: version is 0.0.9, here 0.1.0" in notes[0]
        found = ended(executor, [("where", 0.0)] * 3)
        assert all(one.result != second for one in found.values())
    finally:
        executor.close()


def test_without_a_usable_node_there_is_one_line(cluster: TwoNodes) -> None:
    with pytest.raises(EngineError, match=r"no node .* No module named 'sysone'"):
        executor_of("ray", work, 2, address=cluster.address, facts=partial(version, ""))


def test_files_are_there_where_work_is_done(cluster: TwoNodes) -> None:
    cluster.replace_second()
    data = b"shipped with a test"
    name = shipped.name_of(data)
    executor = executor_of("ray", work, 2, address=cluster.address, files={name: data})
    found = ended(executor, [("read", name)] * 4)
    shipped.path_of(name).unlink()
    assert [one.result for one in found.values()] == [data] * 4


def test_a_shipped_file_must_have_the_content_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ValueError, match="came with the content of"):
        shipped.keep(shipped.name_of(b"one"), lambda: b"another")
    assert not shipped.path_of(shipped.name_of(b"one")).exists()
    assert shipped.keep(shipped.name_of(b"one"), lambda: b"one").read_bytes() == b"one"
    assert shipped.keep(shipped.name_of(b"one"), lambda: b"").read_bytes() == b"one"


def wait_for_ever(executor: Executor, ended: list[Finished]) -> None:
    while True:
        ended += executor.wait(1.0)


def test_the_end_of_the_cluster_is_an_error_and_no_result_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Ray's own patience with a head that is gone, a minute otherwise.
    monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "2")
    with two_nodes() as cluster:
        executor = executor_of("ray", work, 2, address=cluster.address)
        executor.submit(0, ("square", 3))
        found = []
        while not found:
            found = executor.wait(1.0)
        executor.submit(1, ("until told", None))
    later: list[Finished] = []
    with pytest.raises(EngineError, match=r"Ray cluster is gone|no node"):
        wait_for_ever(executor, later)
    assert all(one.lost for one in later)
    executor.close()
    assert found == [Finished(0, 9)]


@pytest.mark.parametrize(
    ("address", "words"),
    [("nowhere", "auto or HOST:PORT, not 'nowhere'"), ("127.0.0.1:9", "no Ray cluster answers")],
)
def test_an_address_without_a_cluster(address: str, words: str) -> None:
    pytest.importorskip("ray", reason="needs the cluster extra")
    with pytest.raises(EngineError, match=words):
        executor_of("ray", work, 1, address=address)


def test_an_installation_is_told_by_versions_and_sources() -> None:
    facts = installation()
    assert facts["sysone-core"]
    assert len(facts["sources"]) == 16
