"""Ports, hosts and exit codes: pure functions over what other systems print."""

import socket
from collections.abc import Callable

import pytest

from sysone.drive.exits import explain_exit
from sysone.drive.hosts import find_host, gateway_of_ip_route, gateway_of_route_table, is_wsl2
from sysone.drive.ports import check_ports, is_bound, parse_excluded, read_excluded

ENGLISH = """
Protocol tcp Port Exclusion Ranges

Start Port    End Port
----------    --------
      1921        2020
      2269        2368
     50000       50059     *

* - Administered port exclusions.
"""
CHINESE = """
协议 tcp 端口排除范围

开始端口    结束端口
----------    --------
      1921        2020
      2269        2368
     50000       50059     *

* - 管理的端口排除。
"""
GERMAN = """
Protokoll tcp Portausschlussbereiche

Startport   Endport
----------  --------
      1921        2020
      2269        2368
     50000       50059     *

* - Verwaltete Portausschlüsse.
"""
RANGES = [(1921, 2020), (2269, 2368), (50000, 50059)]


@pytest.mark.parametrize(
    "raw",
    [
        ENGLISH.encode("cp437"),
        CHINESE.encode("gbk"),
        CHINESE.encode("utf-8"),
        GERMAN.encode("cp850"),
        GERMAN.replace("\n", "\r\n").encode("cp1252"),
    ],
)
def test_excluded_ranges_in_every_language(raw: bytes) -> None:
    assert read_excluded(run=lambda command: raw) == RANGES


def test_only_rows_of_two_numbers_count() -> None:
    assert parse_excluded("") == []
    assert parse_excluded("  80  \n 90 80\n 70000 70001\n a 1 2\n 1 2 3\n 5 5\n5 5 *") == [(5, 5)]

    def absent(command: object) -> bytes:
        raise FileNotFoundError

    assert read_excluded(run=absent) == []


def test_windows_programs_are_found_from_a_guest() -> None:
    asked: list[str] = []

    def run(command: list[str]) -> bytes:
        asked.append(command[0])
        if command[0] == "netsh":
            raise FileNotFoundError
        return ENGLISH.encode()

    assert read_excluded(run=run) == RANGES
    assert asked == ["netsh", "netsh.exe"]


def test_free_ports_are_taken_as_they_are() -> None:
    found = check_ports(2021, 8000, excluded=RANGES, bound=lambda port: False)
    assert (found.free, found.proposed_rpc, found.proposed_tm) == (True, 2021, 8000)
    assert found.text() == "ports 2021-2023 and traffic manager 8000 are free"


def test_a_reserved_range_is_named_and_a_gap_proposed() -> None:
    found = check_ports(2000, 8000, excluded=RANGES, bound={2022}.__contains__)
    # 2000 to 2020 are reserved, 2021 to 2023 hold a taken port: steps of 10 from 2000
    assert (found.proposed_rpc, found.proposed_tm) == (2030, 8000)
    text = found.text()
    assert "port 2000 is reserved by the system (1921-2020; winNAT, moves at reboot)" in text
    assert "--carla-port 2030 --tm-port 8000 (or --auto-port)" in text
    taken = check_ports(2268, 2270, excluded=RANGES, bound=lambda port: False)
    assert [one.port for one in taken.problems] == [2269, 2270, 2270]
    assert (taken.proposed_rpc, taken.proposed_tm) == (2378, 2370)


def test_the_traffic_manager_s_port_is_no_gap_of_the_server() -> None:
    found = check_ports(7990, 8001, excluded=[(7990, 7992)], bound=lambda port: False)
    assert found.proposed_rpc == 8010
    assert check_ports(65534, 8000, excluded=[], bound=lambda port: True).proposed_rpc is None
    assert "no gap is free" in check_ports(65520, 8000, excluded=[(1, 65535)]).text()


def test_a_port_that_something_holds_is_taken() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        assert is_bound(port)
        problems = check_ports(port, 8000, excluded=[]).problems
        assert f"port {port} is taken by another process" in map(str, problems)


IP_ROUTE = "default via 172.22.160.1 dev eth0 proto kernel\n172.22.160.0/20 dev eth0 scope link\n"
TABLE = (
    "Iface\tDestination\tGateway\tFlags\n"
    "eth0\t00A016AC\t00000000\t0001\n"
    "eth0\t00000000\t01A016AC\t0003\n"
)


def test_gateways() -> None:
    assert gateway_of_ip_route(IP_ROUTE) == "172.22.160.1"
    assert gateway_of_ip_route("10.0.0.0/8 dev eth0\n") is None
    assert gateway_of_route_table(TABLE) == "172.22.160.1"
    assert gateway_of_route_table(TABLE.splitlines()[0]) is None
    assert is_wsl2("5.15.153.1-Microsoft-standard-WSL2")
    assert not is_wsl2("6.8.0-45-generic")


@pytest.mark.parametrize(
    ("given", "variable", "release", "up", "mirrored", "wanted", "rule"),
    [
        ("1.2.3.4", "5.6.7.8", "microsoft", [], None, "1.2.3.4", "--carla-host"),
        (None, "5.6.7.8", "microsoft", [], None, "5.6.7.8", "the variable DRIVE_CARLA_HOST"),
        (None, None, "6.8.0-generic", [], None, "127.0.0.1", "this machine"),
        (None, None, "x-Microsoft", ["172.22.160.1"], None, "172.22.160.1", "gateway answers"),
        (None, None, "x-Microsoft", ["127.0.0.1"], None, "127.0.0.1", "mirrored networking"),
        (None, None, "microsoft", ["127.0.0.1", "172.22.160.1"], None, "172.22.160.1", "gateway"),
        (None, None, "microsoft", ["127.0.0.1", "172.22.160.1"], True, "127.0.0.1", "mirrored"),
        (None, None, "microsoft", [], None, "172.22.160.1", "nothing answers yet"),
    ],
)
def test_where_the_server_is(
    given: str | None,
    variable: str | None,
    release: str,
    up: list[str],
    mirrored: bool | None,
    wanted: str,
    rule: str,
) -> None:
    answers: Callable[[str, int], bool] = lambda host, port: host in up  # noqa: E731
    found = find_host(
        given,
        2021,
        environment={"DRIVE_CARLA_HOST": variable} if variable else {},
        release=release,
        gateway=lambda: "172.22.160.1",
        answers=answers,
        mirrored=mirrored,
    )
    assert found.address == wanted
    assert rule in found.rule


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (134, "SIGABRT"),
        (-6, "SIGABRT"),
        (139, "SIGSEGV"),
        (-11, "SIGSEGV"),
        (137, "SIGKILL"),
        (-9, "SIGKILL"),
        (130, "interrupted"),
        (0xC0000005, "access violation"),
        (0xC0000005 - 2**32, "access violation"),
        (0xE06D7363, "uncaught C++ exception"),
        (0xC0000409, "stack buffer overrun or abort"),
        (4, "blocked"),
        (0, "done"),
        (-50, "signal 50"),
        (77, "unknown"),
    ],
)
def test_exit_codes_are_explained(code: int, name: str) -> None:
    found = explain_exit(code)
    assert found.name == name
    assert found.cause
    assert found.next_step
    assert str(found).startswith(name)
    if code == 0xE06D7363:
        assert "port" in found.cause
        assert "0xE06D7363" in str(found)
        assert "preflight" in found.next_step
