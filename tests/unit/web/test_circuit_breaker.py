"""A circuit breaker is closed, open and half open."""

import pytest

from localllm.web.circuit_breaker import CircuitBreaker
from tests.support.web_engines import Clock


def test_it_opens_after_failures_in_a_row_and_is_tried_once_after_a_rest() -> None:
    clock = Clock()
    breaker = CircuitBreaker(failures=2, rest=30.0, clock=clock)
    for _ in range(5):  # never two in a row
        assert breaker.begin() == 0.0
        breaker.fail()
        assert breaker.begin() == 0.0
        breaker.succeed()
    breaker.fail()
    breaker.fail()
    clock.now += 10.0
    assert breaker.begin() == pytest.approx(20.0)
    clock.now += 20.0
    assert breaker.begin() == 0.0
    assert breaker.begin() > 0.0  # while that one is on its way
    breaker.fail()
    assert breaker.begin() == pytest.approx(30.0)
    clock.now += 30.0
    assert breaker.begin() == 0.0
    breaker.release()
    assert breaker.begin() == 0.0
    breaker.succeed()
    assert [breaker.begin() for _ in range(3)] == [0.0] * 3


def test_a_rest_of_its_own_opens_it_at_once() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock=clock)
    breaker.fail(500.0)
    assert breaker.begin() == pytest.approx(500.0)
    clock.now += 500.0
    assert (breaker.is_open, breaker.begin()) == (False, 0.0)
