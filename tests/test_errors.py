"""The error tree: what an error can be caught as, and errors of extras that are not installed."""

from __future__ import annotations

import pytest

from shortlist import errors
from shortlist.errors import MissingExtra, ServiceError, ShortlistError, import_extra, needs_extra


def test_every_error_is_one_of_the_package_and_is_in_the_tree() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) > 10
    for kind in kinds:
        assert issubclass(kind, ShortlistError)
        assert kind.__name__ in (errors.__doc__ or "")


def test_programs_may_catch_the_usual_error_of_python() -> None:
    assert issubclass(errors.QueryTooLong, ValueError)
    assert issubclass(errors.MissingExtra, ImportError)
    assert issubclass(errors.EngineError, errors.CorpusError)


def test_an_error_of_a_service_has_its_status() -> None:
    assert ServiceError("is busy", 503).status == 503
    assert ServiceError("cannot be reached").status is None


def test_a_package_that_is_missing_is_an_error_with_the_line_that_installs_it() -> None:
    with pytest.raises(MissingExtra, match=r'^Speech needs the extra \'speech\': pip install "shortlist\[speech\]"$'):
        import_extra("no_such_package", "speech", "Speech")
    assert import_extra("json", "speech", "Speech").loads("1") == 1


def test_the_extra_that_is_missing_deeper_down_is_reported() -> None:
    with pytest.raises(MissingExtra, match="'inner'"), needs_extra("outer", "This"):
        raise MissingExtra("inner", "That")
    with pytest.raises(ZeroDivisionError), needs_extra("outer", "This"):
        raise ZeroDivisionError
