"""Plain data: dataclasses made ready for JSON, or made fast, and YAML loaded within limits of its depth and size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, make_dataclass
from functools import cache
from types import UnionType
from typing import Any, ClassVar, Self, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")

MAX_DEPTH = 100  # of lists and mappings in a file; deeper ones exceed the stack, also that of compiled parsers
MAX_ALIASED = 100_000  # values that the aliases of a YAML text stand for

_PLAIN = frozenset((str, float, int, bool, type(None)))  # looked up first, because most values are of these types


class Plain:
    """A dataclass with a `to_dict` of its fields, or of the fields and properties that `_shown` lists.

    `from_dict` is the inverse: fields that `to_dict` leaves out have their defaults.
    """

    __slots__ = ()
    _shown: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        return {name: to_plain(getattr(self, name)) for name in _names(type(self))}  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The object whose `to_dict` this is. Keys that are not fields are ignored."""
        return cls(**{name: from_plain(hint, data[name]) for name, hint in _hints(cls).items() if name in data})  # type: ignore[arg-type]


@cache
def get_maker(kind: type[T]) -> Callable[..., T]:
    """A function that makes an instance of a frozen dataclass with slots from the values of all its fields, in order.

    It takes a quarter of the time: the constructor calls `object.__setattr__` for each field. Here the values are set
    on an instance of a class with the same slots that is not frozen, which then becomes one of the right class.
    """
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    draft = make_dataclass(kind.__name__, names, bases=kind.__bases__, eq=False, repr=False, slots=True)

    def make(*values: Any) -> T:
        one: Any = draft(*values)
        one.__class__ = kind
        made: T = one
        return made

    return make


@cache
def _names(kind: type[Any]) -> list[str]:
    return kind._shown.split() or [field.name for field in fields(kind)]


def to_plain(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: to_plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    return value


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    """The types of the fields."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def from_plain(hint: Any, value: Any) -> Any:
    """A value of the hinted type from what `to_plain` made of it."""
    if value is None:
        return None
    if hasattr(hint, "from_dict"):
        return hint.from_dict(value)
    kind, inner = get_origin(hint), get_args(hint)
    if kind is UnionType and type(None) in inner and len(inner) == 2:
        return from_plain(next(each for each in inner if each is not type(None)), value)
    if kind is tuple and inner[-1] is not ...:
        return tuple(from_plain(each, part) for each, part in zip(inner, value, strict=True))
    if kind in (list, tuple):
        return kind(from_plain(inner[0], part) for part in value)
    return value


def is_deeper(value: Any, most: int = MAX_DEPTH) -> bool:
    """Whether JSON data has more levels than this, its innermost values included."""
    level = [value]
    for _ in range(most):
        if not level:
            return False
        inner = (each.values() if isinstance(each, dict) else each if isinstance(each, list) else () for each in level)
        level = [item for items in inner for item in items]
    return bool(level)


def load_yaml(text: str) -> Any:
    """The data of a YAML text. A ValueError says what is wrong with it, and where."""
    import yaml  # noqa: PLC0415  # only where such a text is read

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the compiled one is seven times faster
    try:
        _check_size(yaml.parse(text, Loader=loader))
        return yaml.load(text, loader)
    except Exception as error:  # it raises anything for a value that does not fit its tag
        mark = getattr(error, "problem_mark", None)
        if mark is None:
            raise ValueError(" ".join(str(error).split()) or type(error).__name__) from None
        said = ", ".join(filter(None, (getattr(error, "context", None), getattr(error, "problem", None))))
        raise ValueError(f"{said} (line {mark.line + 1}, column {mark.column + 1})") from None


def _check_size(events: Iterable[Any]) -> None:
    """Refuse what is nested too deeply, and aliases that expand to too much."""
    import yaml  # noqa: PLC0415

    sizes: dict[str, int] = {}  # by anchor
    open_anchors: list[str | None] = []
    counts, aliased = [0], 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in open_anchors:
                raise ValueError(f"the alias *{event.anchor} is inside of what it stands for")
            size = sizes.get(str(event.anchor), 1)
            counts[-1] += size
            aliased += size
            if aliased > MAX_ALIASED:
                raise ValueError(f"its aliases stand for more than {MAX_ALIASED:,} values")
        elif isinstance(event, yaml.CollectionStartEvent):
            open_anchors.append(event.anchor)
            counts.append(1)
            if len(counts) > MAX_DEPTH + 1:
                raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            size = counts.pop()
            counts[-1] += size
            if anchor := open_anchors.pop():
                sizes[anchor] = size
        elif isinstance(event, yaml.ScalarEvent):
            counts[-1] += 1
