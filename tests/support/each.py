"""Many cases in one test: all are tried, and each that fails is named with its own traceback.

For cases that are data, where a test of its own for each would cost more than what it tests. `each` takes what
`pytest.mark.parametrize` takes: whoever wants to run one case alone writes that in its place for the moment.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial, wraps
from textwrap import shorten
from typing import Any

Named = Callable[[Any], str]


def each(
    names: str | tuple[str, ...], cases: Iterable[Any], ids: Named | Sequence[str] = repr
) -> Callable[[Callable[..., Any]], Any]:
    """The test is called with each of the cases; other parameters are fixtures, the same ones for every case.

    Raises an ExceptionGroup of all that failed; no cases at all are a failure.
    """
    given = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    tried = [(case,) if len(given) == 1 else tuple(case) for case in cases]
    named = ["-".join(map(ids, values)) for values in tried] if callable(ids) else list(ids)
    arguments = [dict(zip(given, values, strict=True)) for values in tried]

    def of(test: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(test)
        def run(*args: Any, **fixtures: Any) -> None:
            ended = [_raised(partial(test, *args, **fixtures, **case)) for case in arguments]
            _report(list(zip(named, ended, strict=True)))

        @wraps(test)
        async def run_awaited(*args: Any, **fixtures: Any) -> None:
            ended = [await _ended(test(*args, **fixtures, **case)) for case in arguments]
            _report(list(zip(named, ended, strict=True)))

        running: Any = run_awaited if inspect.iscoroutinefunction(test) else run
        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name not in given]
        assert len(others) + len(given) == len(signature.parameters), f"{test.__name__} does not take {names}"
        running.__signature__ = signature.replace(parameters=others)
        return running

    return of


def check_each(cases: Iterable[Any], check: Callable[[Any], object], named: Named = repr) -> None:
    """Call `check` with each of `cases`, as `each` does."""
    _report([(named(case), _raised(partial(check, case))) for case in cases])


async def await_all(cases: Iterable[Any], check: Callable[[Any], Awaitable[object]], named: Named = repr) -> None:
    """The same for cases that wait rather than work: all at once, none waits for another."""
    tried = list(cases)
    errors = await asyncio.gather(*(_ended(check(case)) for case in tried))
    _report([(named(case), error) for case, error in zip(tried, errors, strict=True)])


def _raised(call: Callable[[], object]) -> Exception | None:
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it is, the other cases are to be tried as well
        return error
    return None


async def _ended(checking: Awaitable[object]) -> Exception | None:
    try:
        await checking
    except Exception as error:  # noqa: BLE001 - whatever it is, the other cases are to be tried as well
        return error
    return None


def _report(ended: list[tuple[str, Exception | None]]) -> None:
    assert ended, "there is no case"
    failed = [(name, error) for name, error in ended if error]
    for name, error in failed:
        error.add_note(f"case: {name}")
    if failed:
        names = "; ".join(shorten(name, 100) for name, _ in failed)
        raise ExceptionGroup(f"{len(failed)} of {len(ended)} cases failed: {names}", [error for _, error in failed])
