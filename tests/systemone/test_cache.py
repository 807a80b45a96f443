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


def test_all_or_none_counts_nothing_when_one_is_missing() -> None:
    cache = VectorCache(4, budget_bytes=256)
    cache.put("a", row(1))
    assert cache.get(["a", "b"], all_or_none=True)[2] == [1]
    assert (cache.hits, cache.misses) == (0, 0)
    assert cache.get(["a"], all_or_none=True)[2] == []
    assert cache.hits == 1


def test_long_lists_are_kept_in_one_piece_within_bounds() -> None:
    texts = [str(index) for index in range(100)]
    cache = VectorCache(4, budget_bytes=800 * 16)
    for index, text in enumerate(texts):
        cache.put(text, row(index), flag=index == 7)
    first, flags, missing = cache.get(texts)
    again, again_flags, _ = cache.get(texts)
    assert missing == []
    assert again is first, "the second time nothing is gathered"
    assert first[:, 0].tolist() == list(range(100))
    assert again_flags == flags
    assert flags.index(True) == 7
    assert cache.hits == 200
    # Another order is another list.
    assert cache.get(texts[::-1])[0][:, 0].tolist() == list(range(99, -1, -1))
    for start in range(30):
        cache.get(texts[start : start + 70])
        assert sum(map(len, cache._blocks)) <= 200


def test_lists_longer_than_the_bound_are_gathered_each_time() -> None:
    texts = [str(index) for index in range(100)]
    cache = VectorCache(4, budget_bytes=100 * 16)
    for index, text in enumerate(texts):
        cache.put(text, row(index))
    assert cache.get(texts)[0] is not cache.get(texts)[0]
    assert cache._blocks == {}
