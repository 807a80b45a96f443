"""Prometheus figures of the service.

With several worker processes ``PROMETHEUS_MULTIPROC_DIR`` names a folder that they share (the
parent sets it), and each scrape reports all of them together; cache figures then carry the
process id, because each worker has caches of its own.
"""

import os
import time
from collections.abc import Mapping

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"

# Seconds: from a cached answer to the time limit.
BUCKETS = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 1, 4, 16, 64)

REFRESH_S = 1.0

CacheFigures = Mapping[str, Mapping[str, Mapping[str, float]]]


class Metrics:
    """Counters of one process."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        """Empty figures in a registry of their own."""
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "systemone_requests",
            "Requests answered, by route and status.",
            ["route", "status"],
            registry=self._registry,
        )
        self._errors = Counter(
            "systemone_errors",
            "Requests that brought no answer, by route and error type.",
            ["route", "type"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "systemone_request_seconds",
            "Time from the request's headers to its reply.",
            ["route"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._tokens = Counter(
            "systemone_input_tokens", "Tokens encoded for answers.", registry=self._registry
        )
        self._cache = Gauge(
            "systemone_cache",
            "Vector caches by model and role: capacity and used in rows, hits, misses, evictions, "
            "hit_rate from 0 to 1.",
            ["model", "cache", "figure"],
            multiprocess_mode="liveall",
            registry=self._registry,
        )
        # Looking a label up costs more than counting does.
        self._children: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self._refreshed = 0.0
        self._shared = SHARED_FOLDER in os.environ

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count one reply."""
        children = self._children.get((route, status))
        if children is None:
            children = self._children[route, status] = (
                self._requests.labels(route, str(status)),
                self._seconds.labels(route),
            )
        counter, histogram = children
        counter.inc()
        histogram.observe(seconds)

    def error(self, route: str, error_type: str) -> None:
        """Count one error by its type."""
        self._errors.labels(route, error_type).inc()

    def tokens(self, count: int) -> None:
        """Count encoded tokens."""
        if count:
            self._tokens.inc(count)

    def due(self) -> bool:
        """Whether the cache figures that other workers report of this one are getting old."""
        return self._shared and time.monotonic() - self._refreshed > REFRESH_S

    def caches(self, figures: CacheFigures) -> None:
        """Take over the caches' figures."""
        self._refreshed = time.monotonic()
        for model, by_role in figures.items():
            for role, by_name in by_role.items():
                for name, value in by_name.items():
                    self._cache.labels(model, role, name).set(value)

    def text(self, figures: CacheFigures) -> bytes:
        """The exposition: of this process, or of all workers."""
        self.caches(figures)
        if not self._shared:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
