"""Does a description speak to the model instead of about the thing? Instructions, and what cannot be seen."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# What known attacks on tool descriptions say; each with what it would make a model do.
INSTRUCTIONS = {
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|preceding|all|any|other"
    r"|system|your)\b[^.\n]{0,30}\b(?:instructions?|prompts?|rules?|guidelines?|messages?|context|tools?)\b": (
        "tells the model to ignore its instructions"
    ),
    r"\b(?:do not|don't|never|without)\b[^.\n]{0,25}\b(?:tell|telling|inform|informing|mention|mentioning|notify"
    r"|notifying|reveal|revealing|alert|alerting|warn|warning|ask|asking)\b[^.\n]{0,25}\bthe (?:user|human|person)\b": (
        "tells the model to hide something from the user"
    ),
    r"(?-i:</?IMPORTANT>|\[/?(?:INST|SYSTEM)\])|<\s*/?\s*(?:system|instructions?|secret|hidden|assistant|prompt)\s*>"
    r"|<\|[a-z_]+\|>|^\s*(?:system|assistant)\s*:": "imitates the marks of a system message",
    r"\b(?:you are now|from now on,? you|you (?:must |should |will )?act as|pretend (?:to be|that you)"
    r"|new instructions?\s*:)": "gives the model another role",
    r"\b(?:always|must|first)\b[^.\n]{0,40}\b(?:call|use|invoke|run|prefer|choose)\b[^.\n]{0,20}\bthis (?:tool|function"
    r"|skill|server)\b[^.\n]{0,60}\b(?:before|first|instead|regardless|no matter|over|for (?:every|all|any))\b": (
        "asks to be called before or instead of others"
    ),
    r"\b(?:before|whenever|when)\b[^.\n]{0,40}\b(?:using|calling|invoking|you (?:use|call|invoke))\b[^.\n]{0,30}\b"
    r"(?:any|other|another|all)\b[^.\n]{0,15}\b(?:tools?|functions?)\b": "says what to do with other tools",
    r"\.ssh/|\.aws/credentials|\.cursor/mcp\.json|\bid_rsa\b|/etc/(?:passwd|shadow)\b": "points to files with secrets",
    r"\b(?:send|upload|exfiltrate|forward|leak|include|append|e-?mail)\b[^.\n]{0,40}\b(?:your|the user's|any|all)\b"
    r"[^.\n]{0,20}\b(?:api[ _-]?keys?|credentials|passwords?|secrets?|private keys?|system prompt|instructions)\b": (
        "asks to hand over secrets"
    ),
    r"\b(?:send|post|upload|exfiltrate|forward|leak|e-?mail)\b[^.\n]{0,30}\b(?:conversation|chat history|messages"
    r"|context|prompt)\b[^.\n]{0,30}(?:https?://|\w@\w)": "asks to send the conversation somewhere",
}
_COMPILED = [(re.compile(pattern, re.IGNORECASE | re.MULTILINE), what) for pattern, what in INSTRUCTIONS.items()]
_HIDDEN = re.compile(r"<!--.*?-->|\x1b\[[0-9;]*[A-Za-z]|<[^>]+style\s*=\s*[\"'][^\"']*display\s*:\s*none", re.DOTALL)
_JOINERS = "\u200c\u200d"
_TAGS = range(0xE0000, 0xE0080)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """What in a text speaks to the model: what it does, and the words."""
    seen = visible(text)
    for pattern, what in _COMPILED:
        if found := pattern.search(seen):
            yield what, " ".join(found.group().split())


def invisible(text: str) -> list[str]:
    """The characters of a text that cannot be seen, by name, and what is hidden in comments or behind colours.

    Joiners between letters of scripts that need them, and within emoji, are not meant.
    """
    found = {}
    for at, char in enumerate(text):
        if char in "\t\n\r" or unicodedata.category(char) not in ("Cf", "Cc", "Co"):
            continue
        if char not in _JOINERS or not at or text[at - 1].isascii():
            found[char] = unicodedata.name(char, f"U+{ord(char):04X}")
    return [*found.values(), *(["hidden markup"] if _HIDDEN.search(text) else [])]


def visible(text: str) -> str:
    """The text without what cannot be seen, in its compatible form: what a reader, or a model, takes it for."""
    hidden = "".join(chr(ord(char) - 0xE0000) for char in text if ord(char) in _TAGS)
    kept = "".join(char for char in text if unicodedata.category(char) not in ("Cf", "Co"))
    return unicodedata.normalize("NFKC", f"{kept}\n{hidden}" if hidden else kept)


def mixed_scripts(name: str) -> list[str]:
    """The scripts of a word that mixes letters which look alike: Latin with Cyrillic or Greek."""
    for word in re.findall(r"\w+", name):
        scripts = {_script(char) for char in word if char.isalpha()} & {"LATIN", "CYRILLIC", "GREEK"}
        if len(scripts) > 1:
            return sorted(script.capitalize() for script in scripts)
    return []


def _script(char: str) -> str:
    return unicodedata.name(char, "").split(" ")[0]
