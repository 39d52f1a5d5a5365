"""Our tokenizers give the numbers of the library tokenizers."""

from __future__ import annotations

import functools
import json
import random
import unicodedata
from typing import Any

import pytest
import tokenizers

from shortlist.index.embedders import named, tokenization
from shortlist.index.embedders.tokenization import VOCABULARY, BytePairTokenizer, WordPieceTokenizer
from tests.pages import ROOT

MOST = 512
PAGES = sorted((ROOT / "docs").rglob("*.md"))


@functools.cache
def tokens() -> list[str]:
    found: list[str] = json.loads((named.STATIC / "tokens.json").read_text("utf-8"))
    return found


@functools.cache
def byte_pairs() -> BytePairTokenizer:
    return BytePairTokenizer(named.STATIC / "tokens.json")


@functools.cache
def word_pieces() -> WordPieceTokenizer:
    return WordPieceTokenizer()


@functools.cache
def library_byte_pairs() -> Any:
    """The tokenizer as the library runs it, with a merge for every pair of tokens that makes a token."""
    numbers = {token: number for number, token in enumerate(tokens())}
    merges = [
        (set(token) == {"▁"}, number, token[:at], token[at:])
        for token, number in list(numbers.items())[259:]
        for at in range(1, len(token))
        if token[:at] in numbers and token[at:] in numbers
    ]
    pairs = [(left, right) for _, _, left, right in sorted(merges)]
    model = tokenizers.models.BPE(numbers, pairs, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    made = tokenizers.Tokenizer(model)
    made.normalizer = tokenizers.normalizers.Sequence(
        [
            tokenizers.normalizers.Prepend("▁"),
            tokenizers.normalizers.Replace(" ", "▁"),
        ]
    )
    return made


@functools.cache
def library_word_pieces() -> Any:
    return tokenizers.BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)


def is_old(code: int) -> bool:
    """Whether a character is older than the tables of the library, or what it decomposes to is."""
    older = unicodedata.ucd_3_2_0
    return all(older.category(part) == unicodedata.category(part) for part in unicodedata.normalize("NFD", chr(code)))


def make_texts() -> list[str]:
    rng = random.Random(37)
    characters = [chr(code) for code in range(0x20, 0x2FFF) if is_old(code)]
    characters += [chr(rng.randrange(0x3000, 0xD000)) for _ in range(500)] + [" ", "  ", "▁", "\n", "\t", "\0"] * 100
    texts = ["".join(rng.choices(characters, k=rng.randrange(1, 80))) for _ in range(1_000)]
    texts += ["".join(rng.choices("ab ▁ \n", k=rng.randrange(1, 80))) for _ in range(1_000)]
    texts += ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz{}\r\n", k=rng.randrange(1, 3_000))) for _ in range(50)]
    texts += ["".join(rng.choices(tokens()[259:], k=rng.randrange(1, 20))) for _ in range(1_000)]
    texts += [line for page in PAGES for line in page.read_text("utf-8").splitlines() if line.strip()]
    return [text for text in texts if "[UNK]" not in text and "<s>" not in text]


@pytest.mark.parametrize(
    ("own", "library"), [(byte_pairs, library_byte_pairs), (word_pieces, library_word_pieces)], ids=["bytes", "words"]
)
def test_the_numbers_are_those_of_the_library(own: Any, library: Any) -> None:
    texts = make_texts()
    assert len(texts) > 5_000
    for text in texts:
        assert own().encode(text, MOST) == library().encode(text, add_special_tokens=False).ids[:MOST], text


def test_every_token_is_its_own_encoding() -> None:
    """So that a word that is a token needs no merges."""
    assert [token for token in tokens()[259:] if len(byte_pairs()._join(list(token))) > 1] == []


def test_special_tokens_in_a_text_are_text() -> None:
    special = {word_pieces().first, word_pieces().separator, word_pieces().unknown}
    assert special.isdisjoint(word_pieces().encode("[CLS] [SEP] [UNK]", MOST))
    assert {0, 1, 2}.isdisjoint(byte_pairs().encode("<unk><s></s>", MOST))


def test_a_whole_text_has_at_most_so_many_tokens_with_the_special_ones() -> None:
    whole = word_pieces().encode_whole("weather " * 20, 10)
    assert whole == [word_pieces().first, *word_pieces().encode("weather", 1) * 8, word_pieces().separator]


def test_words_are_cached_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenization, "MOST_CACHED_WORDS", 2)
    tokenizer = WordPieceTokenizer()
    expected = [tokenizer.encode(word, MOST) for word in ("rain", "snow", "hail")]
    tokenizer.encode("x" * (tokenization.LONGEST_CACHED_WORD + 1), MOST)
    assert list(tokenizer._cache) == ["hail"]
    assert [tokenizer.encode(word, MOST) for word in ("rain", "snow", "hail")] == expected
