"""Lists of sentences for questions about written passages, in the same or another language.

`python -m training.judge.passage_lists OUT`. The questions of `passages.jsonl.xz` have a passage, but nothing says
which sentence of it answers. So all sentences that the embedder finds near are right, and training chooses among them:
its loss asks for one of those that are right. Wrong ones are the nearest sentences of other passages. A part of the
lists lose their passage.
"""

from __future__ import annotations

import argparse
import random
import zlib
from pathlib import Path

import numpy as np

from shortlist.answer.extractive.candidates import split_passage
from shortlist.index.embedders.tools_model import ToolsEmbedder
from shortlist.results import Evidence
from training import data
from training.judge.list_tokens import OTHER, UnitList, write_texts

SOURCE = "passage"
MOST_RIGHT, WRONG = 4, 8  # sentences of a list
REMOVED = 0.3  # of the lists lose their passage
HELD_OF = 10  # one passage of so many is held


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.judge.passage_lists", description=__doc__)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    rng, embedder = random.Random(0), ToolsEmbedder()
    passages = list(data.rows(data.PASSAGES))
    units, owners = [], []
    for number, row in enumerate(passages):
        item = Evidence(0, "", "", "whole", row["text"], 0.0, name="", context="")
        texts = [unit.text for unit in split_passage(item, row["language"])]
        for before, text, after in zip(["", *texts], texts, [*texts[1:], ""], strict=False):
            units.append((text, " | ".join(["", *filter(None, (before, after))])))
            owners.append(number)
    owner = np.array(owners)
    print(f"{len(passages)} passages, {len(units)} sentences", flush=True)
    vectors = np.array(embedder.encode_documents([text for text, _ in units]))
    asked = [(number, *one) for number, row in enumerate(passages) for one in row["questions"]]
    questions = np.array(embedder._encode_new([text for *_, text in asked], query=True))
    lists = []
    for (number, language, question), near in zip(asked, questions @ vectors.T, strict=True):
        order = np.argsort(-near)
        right = order[owner[order] == number][:MOST_RIGHT]
        wrong = order[owner[order] != number][:WRONG]
        is_removed = rng.random() < REMOVED
        places = wrong if is_removed else [*right, *wrong]
        is_other = language != passages[number]["language"]
        source = SOURCE + (OTHER if is_other else "") + (", removed" if is_removed else "")
        held = zlib.crc32(passages[number]["text"].encode()) % HELD_OF == 0
        kept = frozenset(() if is_removed else range(len(right)))
        lists.append(UnitList(question, [units[at] for at in places], kept, source, held))
    write_texts(lists, [], given.out)
    print(f"{len(lists)} lists")


if __name__ == "__main__":
    main()
