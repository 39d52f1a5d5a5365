"""Units of a passage: what may be quoted alone, and what only is the context of others."""

from __future__ import annotations

import re
from dataclasses import dataclass

ANSWERS = frozenset({"sentence", "item", "list", "row", "definition"})
LONGEST = 1_200  # characters of a unit that is quoted
LONGEST_PASSAGE = 4_000  # characters shown of a passage; longer ones are cut
LONGEST_LABEL = 80  # characters of a term, a label or a heading without a mark

_NAME = re.compile(r"--?\w[\w-]*|[%\w]\w*(?:\.\w+)*")


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a passage.

    `text` is how it is shown. `context` is what it is read with: the term, signature, question or introduction above;
    `headings` is the path of headings above it. A row has `cells`, and `headers` if its table has; its `key` is the
    cell that names it. `note` is the kind of remark that it is, or that it is part of: added, changed, deprecated,
    removed, note or warning. `group` is the position of the list that an item belongs to, in the passage.
    """

    kind: str
    start: int
    end: int
    text: str
    context: str = ""
    headings: tuple[str, ...] = ()
    subject: str = ""  # the term or the name in the signature that is nearest above
    key: str = ""  # the term of a definition, or the part of an item before its colon
    cells: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    note: str = ""
    group: int = -1

    @property
    def heading(self) -> str:
        """The heading of its section."""
        return self.headings[-1] if self.headings else ""

    @property
    def subjects(self) -> frozenset[str]:
        """The names of what it describes: its options, or the function or constant whose signature is above it."""
        return frozenset(_NAME.findall((self.key or self.subject).partition("(")[0]))

    @property
    def is_answer(self) -> bool:
        return self.kind in ANSWERS and len(self.text) <= LONGEST
