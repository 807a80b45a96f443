"""Interrupts: held over a block, and not lost in a finaliser."""

import gc
import signal
import threading

import pytest

from sysone.trex.interrupt import interrupts_held, interrupts_kept


@pytest.fixture(autouse=True)
def python_raises_interrupts():
    """As usual; a shell starts its background jobs with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_a_held_interrupt_is_raised_after_the_block():
    done = []

    def block():
        with interrupts_held():
            interrupt()
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_an_interrupt_nothing_happens():
    with interrupts_held(), interrupts_kept() as check:
        check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_lost_in_a_finaliser_is_raised_again():
    class Finalised:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    with interrupts_kept() as check:
        Finalised()
        gc.collect()
        with pytest.raises(KeyboardInterrupt):
            check()


def test_a_held_interrupt_is_kept_too():
    def block():
        with interrupts_held():
            interrupt()

    with interrupts_kept() as check:
        with pytest.raises(KeyboardInterrupt):
            block()
        with pytest.raises(KeyboardInterrupt):
            check()


def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_kept() as check:
            signal.raise_signal(signal.SIGINT)
            check()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_are_left_alone():
    failures = []

    def block():
        try:
            with interrupts_held(), interrupts_kept() as check:
                check()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    assert failures == []
