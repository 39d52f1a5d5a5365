"""The prompts: the rules, the passages between delimiters, and the question."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shortlist.results import Evidence

_TEXTS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
REFUSAL = _TEXTS["refusal"]
SYSTEM = _TEXTS["system"].replace("{refusal}", REFUSAL)
AGENT = _TEXTS["agent"]
FORCED = _TEXTS["forced"]

# What could end a passage, or a message where a server reads the marks of a chat template in texts.
_DELIMITER = re.compile(r"<(?=\||\s{0,20}/?\s{0,20}(?:passages?|question)\b)", re.IGNORECASE)
_ATTRIBUTE = str.maketrans({'"': "'", "\n": " "})


def render_passages(evidence: Sequence[Evidence]) -> str:
    """Passages between delimiters that cannot occur inside them."""
    return "\n".join(_render_passage(item) for item in evidence)


def _render_passage(item: Evidence) -> str:
    about = " > ".join(part for part in (item.name, item.context) if part and part != item.label)
    title = f' title="{_escape(about).translate(_ATTRIBUTE)}"' if about else ""
    warning = f' warning="{item.warning}"' if item.warning else ""
    cite = _escape(item.marker).translate(_ATTRIBUTE)
    return f'<passage cite="{cite}"{title}{warning}>\n{_escape(item.text)}\n</passage>'


def _escape(text: str) -> str:
    return _DELIMITER.sub("&lt;", text)


def build_messages(
    question: str, evidence: Sequence[Evidence], history: Sequence[dict[str, str]] = (), *, agent: bool = False
) -> list[dict[str, Any]]:
    """The rules, earlier turns, and the question with its passages."""
    passages = render_passages(evidence) or "(No passage was found for this question.)"
    return [
        {"role": "system", "content": SYSTEM + AGENT * agent},
        *history,
        {"role": "user", "content": f"{passages}\n\n<question>\n{_escape(question)}\n</question>"},
    ]
