"""Packs the static token table of wordllama for the embedder `default`: `python training/static_table.py WHEEL`.

WHEEL is the file that `pip download --no-deps wordllama==0.2.2.post0` leaves. Written are, into
`src/shortlist/index/embedders/data/static`:

- `table.npy`: a row of 8-bit numbers for each token. Texts keep their vectors: the cosine with those of the 16-bit
  table is above .9999;
- `scales.npy`: the number by which each row is multiplied;
- `tokens.json`: the tokens. Their order is that of the merges, so that nothing else need be stored;
- `LICENSE`: that of wordllama.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "src/shortlist/index/embedders/data/static"
FIRST_MERGED = 259  # after the special tokens and the bytes
SPACE = "▁"


def main(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as package:
        weights = package.read("wordllama/weights/l2_supercat_256.safetensors")
        settings = json.loads(package.read("wordllama/tokenizers/l2_supercat_tokenizer_config.json"))
        license_text = package.read("wordllama-0.2.2.post0.dist-info/LICENSE")
    start = 8 + int.from_bytes(weights[:8], "little")
    entry = json.loads(weights[8:start])["embedding.weight"]
    table = np.frombuffer(weights, "<f2", offset=start + entry["data_offsets"][0]).reshape(entry["shape"])
    vocabulary = settings["model"]["vocab"]
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    check_order(tokens, [tuple(merge.split(" ")) for merge in settings["model"]["merges"]])
    scales = np.abs(table.astype(np.float32)).max(axis=1) / 127
    FOLDER.mkdir(exist_ok=True)
    np.save(FOLDER / "table.npy", np.rint(table / scales[:, None]).astype(np.int8))
    np.save(FOLDER / "scales.npy", scales)
    (FOLDER / "tokens.json").write_text(json.dumps(tokens, indent=0), "utf-8")
    (FOLDER / "LICENSE").write_bytes(license_text)


def check_order(tokens: list[str], merges: list[tuple[str, ...]]) -> None:
    """The tokenizer of the package takes what it must know of merges from the order of the tokens. Is it so?"""
    numbers = {token: number for number, token in enumerate(tokens)}
    joined = ["".join(merge) for merge in merges]
    order = [(set(token) == {SPACE}, numbers[token]) for token in joined]
    splits = sum(
        token[:at] in numbers and token[at:] in numbers
        for token in tokens[FIRST_MERGED:]
        for at in range(1, len(token))
    )
    assert order == sorted(order), "merges are not in the order of their tokens, runs of spaces last"
    assert splits == len(merges), "a token has parts that are tokens, but no merge"
    assert not any(SPACE in token.lstrip(SPACE) for token in tokens), "a token continues after a space"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
