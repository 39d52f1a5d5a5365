"""Passes on an answer while it is written: each sentence once it is complete and verified."""

from __future__ import annotations

import re
from collections.abc import Callable

from shortlist.answer.citations import CitationCatalog
from shortlist.answer.reply_sentences import find_block_end, split_reply
from shortlist.answer.verification import VerifiedReply, Verifier

_REPLY_END = re.compile(r"[.!?。！？][\"'”’)]*\s*\Z")


class AnswerStream:
    """Verifies the pieces of a reply as they come, and calls `on_text` with each verified piece of the answer."""

    def __init__(self, verifier: Verifier, on_text: Callable[[str], None] | None = None) -> None:
        self.verifier = verifier
        self.on_text = on_text
        self._pieces: list[str] = []
        self._sent = ""
        self._verified = 0  # characters of complete sentences

    def add(self, piece: str) -> None:
        """Add a piece of the reply."""
        self._pieces.append(piece)
        recent = "".join(self._pieces[-3:])  # what follows shows where a sentence ends
        if self.on_text and any(sign in recent for sign in ".!?…\n。！？"):
            complete = self._cut()
            if len(complete) != self._verified:
                self._verified = len(complete)
                verified = self.verifier.verify(complete)
                if verified.claims:
                    self._send(verified.text)

    def complete_sentences(self) -> str:
        """The reply up to its last complete sentence, or nothing if none of it can be verified."""
        reply = "".join(self._pieces)
        text = reply if _REPLY_END.search(reply) else self._cut()
        return text if self.verifier.verify(text).claims else ""

    def _cut(self) -> str:
        """The reply without its last sentence, list or table, which may go on, nor a citation that has only begun."""
        reply = "".join(self._pieces)
        before, bracket, inside = reply.rpartition("[")
        catalog = CitationCatalog(self.verifier.evidence)
        sentences = list(split_reply(before if bracket and "]" not in inside else reply, catalog))
        last = next(
            (at for at in range(len(sentences)) if find_block_end(sentences, at) == len(sentences)), len(sentences) - 1
        )
        return "".join(f"{one.gap}{one.as_written}" for one in sentences[: max(last, 0)])

    def reset(self) -> None:
        """Forget the reply so far, which was not the answer."""
        self._pieces.clear()
        self._verified = 0

    def verify(self, reply: str) -> VerifiedReply:
        """Verify the complete reply; sentences that were passed on are not assessed again."""
        return self.verifier.verify(reply)

    def finish(self, text: str) -> None:
        """Pass on what is missing of the final answer."""
        if self.on_text and not self._send(text):
            self.on_text(f"\n{text}")

    def _send(self, text: str) -> bool:
        if not text.startswith(self._sent):
            return False
        if self.on_text and len(text) > len(self._sent):
            self.on_text(text[len(self._sent) :])
            self._sent = text
        return True
