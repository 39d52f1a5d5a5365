"""Our tokenizers give the numbers of the library tokenizers."""

from __future__ import annotations

import functools
import itertools
import json
import random
import unicodedata
from typing import Any

import pytest
import tokenizers

from shortlist.index.embedders import named, tokenization, tools_model
from shortlist.index.embedders.tokenization import VOCABULARY, BytePairTokenizer, UnigramTokenizer, WordPieceTokenizer
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


@functools.cache
def pieces() -> UnigramTokenizer:
    return UnigramTokenizer(tools_model.PIECES)


@functools.cache
def piece_names() -> list[str]:
    found: list[str] = json.loads(tools_model.PIECES.read_text("utf-8"))["pieces"]
    return found


@functools.cache
def library_pieces() -> Any:
    """The tokenizer as the library runs it, without the table of characters that XLM-R reads as spaces."""
    vocabulary = json.loads(tools_model.PIECES.read_text("utf-8"))
    scored = list(zip(vocabulary["pieces"], vocabulary["scores"], strict=True))
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(scored, pieces().unknown, False))
    made.normalizer = tokenizers.normalizers.NFKC()
    made.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [tokenizers.pre_tokenizers.Split(" ", "removed"), tokenizers.pre_tokenizers.Metaspace("▁", "always", True)]
    )
    return made


def cut(text: str) -> list[str]:
    """The pieces of a text."""
    return [piece_names()[number] for number in pieces().encode(text, MOST)]


def is_old(code: int) -> bool:
    """Whether a character is older than the tables of the library, or what it decomposes to is."""
    older = unicodedata.ucd_3_2_0
    return all(older.category(part) == unicodedata.category(part) for part in unicodedata.normalize("NFD", chr(code)))


@functools.cache
def make_texts() -> list[str]:
    rng = random.Random(37)
    characters = [chr(code) for code in range(0x20, 0x2FFF) if is_old(code)]
    characters += [chr(rng.randrange(0x3000, 0xD000)) for _ in range(500)] + [" ", "  ", "▁", "\n", "\t", "\0"] * 100
    texts = ["".join(rng.choices(characters, k=rng.randrange(1, 80))) for _ in range(1_000)]
    texts += ["".join(rng.choices("ab ▁ \n", k=rng.randrange(1, 80))) for _ in range(1_000)]
    texts += ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz{}\r\n", k=rng.randrange(1, 3_000))) for _ in range(50)]
    words = tokens()[259:]
    texts += ["".join(rng.choices(words, k=rng.randrange(1, 20))) for _ in range(1_000)]
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("weather in Paris", ["▁weather", "▁in", "▁Paris"]),
        ("  weather \t\n in\u200b Paris ", ["▁weather", "▁in", "▁Paris"]),
        ("ｗｅａｔｈｅｒ ﬁne", ["▁weather", "▁fine"]),
        ("今天天气怎么样", ["▁今天", "天气", "怎么", "样"]),
        ("พรุ่งนี้", ["▁", "พรุ่งนี้"]),
        ("क्या कल", ["▁क्या", "▁कल"]),
        ("a\u0378b", ["▁a", "<unk>", "b"]),
        ("\x00\x07", []),
        ("", []),
    ],
)
def test_words_are_cut_into_the_most_likely_pieces(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


def test_the_pieces_are_those_of_the_library() -> None:
    """Only a run of unknown characters is a single piece there."""
    unknown = pieces().unknown
    rng, names = random.Random(38), piece_names()[4:]
    sampled = ["".join(rng.choices(names, k=rng.randrange(1, 20))) for _ in range(2_000)]
    texts = [
        text for text in make_texts() + sampled if not any(code in text for code in ("\0", "<s>", "</s>", "<pad>"))
    ]
    for text in texts:
        read = text.translate(tokenization._READ)
        runs = [(number, list(run)) for number, run in itertools.groupby(pieces().encode(text, 10_000))]
        numbers = [each for number, run in runs for each in ([unknown] if number == unknown else run)]
        assert numbers == library_pieces().encode(read, add_special_tokens=False).ids, text


def test_a_piece_is_no_longer_than_the_longest_of_the_vocabulary() -> None:
    word = "x" * 1_000
    assert "".join(cut(word)) == f"▁{word}"
    longest = max(piece_names()[4:], key=len)
    assert cut(longest.replace("▁", " ")) == [longest] or len(longest) > len(max(cut(longest), key=len))


def test_every_token_is_its_own_encoding() -> None:
    """So that a word that is a token needs no merges."""
    assert [token for token in tokens()[259:] if len(byte_pairs()._join(list(token))) > 1] == []


def test_special_tokens_in_a_text_are_text() -> None:
    special = {word_pieces().first, word_pieces().separator, word_pieces().unknown}
    assert special.isdisjoint(word_pieces().encode("[CLS] [SEP] [UNK]", MOST))
    assert {0, 1, 2, 3}.isdisjoint(pieces().encode("<s> </s> <pad> <unk>", MOST))
    assert {0, 1, 2}.isdisjoint(byte_pairs().encode("<unk><s></s>", MOST))


def test_a_whole_text_has_at_most_so_many_tokens_with_the_special_ones() -> None:
    whole = word_pieces().encode_whole("weather " * 20, 10)
    assert whole == [word_pieces().first, *word_pieces().encode("weather", 1) * 8, word_pieces().separator]
    whole = pieces().encode_whole("weather " * 20, 10)
    assert whole == [pieces().first, *pieces().encode("weather", 1) * 8, pieces().separator]


def test_words_are_cached_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenization, "MOST_CACHED_WORDS", 2)
    tokenizer = WordPieceTokenizer()
    expected = [tokenizer.encode(word, MOST) for word in ("rain", "snow", "hail")]
    tokenizer.encode("x" * (tokenization.LONGEST_CACHED_WORD + 1), MOST)
    assert list(tokenizer._cache) == ["hail"]
    assert [tokenizer.encode(word, MOST) for word in ("rain", "snow", "hail")] == expected
