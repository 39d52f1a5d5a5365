"""Answers the hook of an agent: reads its event and adds what fits the prompt, if anything does.

Nothing is built, started or listened to, and no error reaches the agent: it gets no hint, and its prompt goes on. This
module and `hook_socket` import little, since every prompt waits for them.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

from shortlist._paths import data_dir
from shortlist.mcp import hook_socket

# The events that carry a prompt: of Claude Code and Codex, and of Gemini CLI.
EVENTS = ("UserPromptSubmit", "BeforeAgent")
LONGEST_EVENT = 4 << 20  # bytes
LONGEST_START, LONGEST_END = 700, 300  # characters of a long prompt: what is asked is seldom in the middle

_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_COMMAND = re.compile(r"/[\w:-]+(\s|\Z)")


def main() -> None:
    """Answer the event on standard input, and end the process at once."""
    run(is_debug=False)
    os._exit(0)


def run(*, is_debug: bool) -> int:
    """Answer the event on standard input; with `is_debug`, say on standard error why there is no hint."""
    try:
        answer = answer_event(sys.stdin.buffer.read(LONGEST_EVENT))
        if answer:
            sys.stdout.write(f"{answer}\n")
            sys.stdout.flush()
        elif is_debug:
            sys.stderr.write("Nothing fits this prompt.\n")
    except Exception as error:
        if is_debug:
            sys.stderr.write(f"No hint: {error} ({type(error).__name__})\n")
    return 0


def answer_event(event: bytes) -> str:
    """The answer to an event, as JSON; empty if nothing fits or the event has no prompt."""
    data: Any = json.loads(event)
    name = data.get("hook_event_name")
    if name not in EVENTS:
        raise ValueError(f"hook_event_name must be {' or '.join(EVENTS)}, not {name!r}")
    if not (query := make_query(data["prompt"])):
        return ""
    if os.path.isdir(folder := data.get("cwd") or ""):
        os.chdir(folder)
    hint = hook_socket.ask_gateway(query)
    if hint is None and data_dir().exists():
        hint = _search(query)
    context = {"hookEventName": name, "additionalContext": hint}
    return json.dumps({"hookSpecificOutput": context}) if hint else ""


def _search(query: str) -> str:
    """Search what is indexed. The model is loaded beside the imports: half of it is not Python."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  # slow to load, as are these

    from shortlist.index.embedders import models, named  # noqa: PLC0415

    with ThreadPoolExecutor(1) as beside:
        if models.can_run_models():
            beside.submit(named.load_embedder, "tools")  # if it fails, the search finds out
        from shortlist.mcp import prompt_hints  # noqa: PLC0415

    return prompt_hints.find_stored_hints(query)


def make_query(prompt: str) -> str:
    """What is searched for: the prompt without blocks of code, cut in the middle; empty for a command of the agent."""
    text = " ".join(_CODE_BLOCK.sub(" ", prompt).split())
    if _COMMAND.match(text):
        return ""
    if len(text) > LONGEST_START + LONGEST_END:
        text = f"{text[:LONGEST_START]} {text[-LONGEST_END:]}"
    return text.encode("utf-8", "replace").decode()
