"""Cases that leave nothing behind, in one test: what they need is made once and not for each of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Test = Callable[..., Any]


def all_cases(
    names: str | Sequence[str], cases: Iterable[Any], *, ids: object = None
) -> Callable[[Test], Test]:
    """Run a test for each case, as `pytest.mark.parametrize` does, but with the same fixtures.

    A failure says in which case. `ids` are not needed here, and allowed, so that one can replace the other.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    each = [dict(zip(keys, [case] if len(keys) == 1 else case, strict=True)) for case in cases]

    def decorate(test: Test) -> Test:
        async def run_async(**fixtures: Any) -> None:
            for case in each:
                try:
                    await test(**fixtures, **case)
                except BaseException as error:
                    error.add_note(f"in the case {case!r}")
                    raise

        def run(**fixtures: Any) -> None:
            for case in each:
                try:
                    test(**fixtures, **case)
                except BaseException as error:
                    error.add_note(f"in the case {case!r}")
                    raise

        chosen: Any = run_async if inspect.iscoroutinefunction(test) else run
        return _named_like(test, chosen, keys)

    return decorate


def _named_like(test: Test, chosen: Any, given: Sequence[str]) -> Test:
    """Give a function the name and the marks of a test, and its arguments without the given ones."""
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(chosen, name, getattr(test, name))
    chosen.__dict__.update(test.__dict__)
    wanted = inspect.signature(test)
    left = [each for each in wanted.parameters.values() if each.name not in given]
    chosen.__signature__ = wanted.replace(parameters=left)
    return chosen  # type: ignore[no-any-return]
