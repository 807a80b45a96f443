from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sysone.systemone.cache import VectorCache


def row(value: float) -> np.ndarray:
    return np.full(4, value, np.float32)


def test_the_least_recently_used_goes_first() -> None:
    cache = VectorCache(4, budget_bytes=3 * 16)
    for index, text in enumerate("abc"):
        cache.put(text, row(index))
    cache.get(["a"])
    cache.put("d", row(3))
    rows, _, missing = cache.get(["a", "b", "c", "d"])
    assert missing == [1]
    assert rows[[0, 2, 3], 0].tolist() == [0, 2, 3]
    assert cache.statistics() == {
        "capacity": 3,
        "used": 3,
        "hits": 4,
        "misses": 1,
        "evictions": 1,
        "hit_rate": 0.8,
    }


def test_flags_and_replaced_rows() -> None:
    cache = VectorCache(4, budget_bytes=64)
    cache.put("a", row(1), flag=True)
    assert cache.get(["a"])[1] == [True]
    cache.put("a", row(2))
    rows, flags, _ = cache.get(["a"])
    assert rows[0, 0] == 2
    assert not flags[0]


def test_budget_zero_remembers_nothing() -> None:
    cache = VectorCache(4, budget_bytes=0)
    cache.put("a", row(1))
    rows, flags, missing = cache.get(["a", "b"])
    assert missing == [0, 1]
    assert rows.shape == (2, 4)
    assert not any(flags)


def test_long_texts_are_told_apart() -> None:
    cache = VectorCache(4, budget_bytes=64)
    cache.put("x" * 1000 + "a", row(1))
    assert cache.get(["x" * 1000 + "a"])[2] == []
    assert cache.get(["x" * 1000 + "b"])[2] == [0]


def test_rows_stay_whole_under_threads() -> None:
    cache = VectorCache(4, budget_bytes=8 * 16)

    def work(thread: int) -> bool:
        for turn in range(300):
            value = (thread * 7 + turn) % 23
            cache.put(str(value), row(value))
            rows, _, missing = cache.get([str(value)])
            if not missing and not (rows[0] == value).all():
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    assert cache.statistics()["used"] == 8
