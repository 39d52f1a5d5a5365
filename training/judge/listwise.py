"""Trains the reader: one decision over the units of a list, with a class for no answer.

`python -m training.judge.listwise train LISTS BASE OUT` starts from the weights of BASE, an exported model, and needs
torch, numpy and onnx alone. LISTS is made by `training.judge.unit_lists`. Every unit gets a logit, and *none* one
learned number; the loss is the cross-entropy of those that answer. Claims keep the logits of BASE. OUT gets the weights
in 16 bits, in parts, and what was measured on held lists; `--state` is a file from which a run that stopped continues.

`python -m training.judge.listwise export OUT MODEL` writes the file that the product loads, in 8 bits, with the number
of *none* and the calibration in its metadata. Several OUT, joined by commas, are averaged.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bench import logistic
from training import measure, model
from training.judge.network import ANSWER_HEAD, CLAIM_HEAD, Array, Judge, read_exported

# How often a list of each source is drawn, whatever its number; those made from structure are the rest.
SHARES = {"written": 0.16, "squad2": 0.12, "selqa": 0.05, "medquad": 0.03, "techdocs": 0.04}
PEOPLE = ("documentation", "squad2", "selqa")  # held questions by people: the calibration is fitted to them
CLS = 101
CHUNKS = 4  # of a batch, by length, so that little is padding
PARTS = 4  # files of the weights
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True)
class Settings:
    steps: int = 3_000
    batch: int = 96  # lists of a step
    claims: int = 48
    rate: float = 6e-5
    warm: float = 0.06
    dropout: float = 0.1
    of_claims: float = 0.5  # the weight of their loss
    every: int = 500  # steps between two measurements
    measured: int = 1_500  # held lists of a group, and claims, at most
    seed: int = 0


class Reader(nn.Module):
    """The judge, and the logit of *none*."""

    def __init__(self, judge: Judge) -> None:
        super().__init__()
        self.judge = judge
        self.none = nn.Parameter(torch.zeros(()))


class Lists:
    """The prepared lists, on a device."""

    def __init__(self, path: Path, device: torch.device) -> None:
        loaded = np.load(io.BytesIO(lzma.decompress(path.read_bytes())))
        self.device = device
        self.ids, self.lengths, self.starts = {}, {}, {}
        for name in ("rows", "questions", "claims"):
            lengths = loaded[f"{name}_lengths"].astype(np.int64)
            self.ids[name] = torch.from_numpy(loaded[name].astype(np.int32)).to(device)
            self.lengths[name], self.starts[name] = lengths, np.cumsum(lengths) - lengths
        self.sizes = loaded["lengths"].astype(np.int64)
        self.first = np.cumsum(self.sizes) - self.sizes
        self.rows, self.questions = loaded["list_rows"].astype(np.int64), loaded["list_questions"].astype(np.int64)
        self.right, self.is_held = loaded["right"], loaded["is_held"]
        self.claim_labels = loaded["claim_labels"] > 0.5
        self.source = loaded["sources"][loaded["source"]]
        self.group = np.array([one.split(",")[0] for one in self.source])
        self.group[~np.isin(self.group, [*SHARES, *PEOPLE, "squad2 unseen"])] = "made"
        self.group[self.group == "squad2 unseen"] = "squad2"

    def shares(self) -> Array:
        """The chance of each list to be drawn."""
        chances = np.zeros(len(self.sizes))
        for name, share in {**SHARES, "made": 1 - sum(SHARES.values())}.items():
            own = (self.group == name) & ~self.is_held
            chances[own] = share / max(1, own.sum())
        return chances / chances.sum()

    def places(self, lists: Array) -> tuple[Array, Array]:
        """The places of the units of lists, and for each its number among the lists."""
        places = np.concatenate([np.arange(self.first[at], self.first[at] + self.sizes[at]) for at in lists])
        return places, np.repeat(np.arange(len(lists)), self.sizes[lists])

    def texts(self, parts: list[tuple[str, Array]]) -> tuple[Tensor, Tensor]:
        """Token numbers and mask of texts that are joined from parts, after [CLS]."""
        lengths = [self.lengths[name][rows] for name, rows in parts]
        most = 1 + int(sum(lengths).max())
        ids = torch.zeros((len(lengths[0]), most), dtype=torch.int64, device=self.device)
        ids[:, 0] = CLS
        places = torch.arange(most, device=self.device)
        begin = torch.ones(len(ids), dtype=torch.int64, device=self.device)
        for (name, rows), own in zip(parts, lengths, strict=True):
            count = torch.from_numpy(own).to(self.device)
            start = torch.from_numpy(self.starts[name][rows]).to(self.device)
            inside = (places >= begin[:, None]) & (places < (begin + count)[:, None])
            found = self.ids[name][torch.where(inside, start[:, None] + places - begin[:, None], 0)]
            ids = torch.where(inside, found.long(), ids)
            begin = begin + count
        return ids, places < begin[:, None]


def rate_texts(judge: Judge, lists: Lists, parts: list[tuple[str, Array]], head: int, chunks: int) -> Tensor:
    """The logits of texts, which are read in chunks of about one length."""
    order = np.argsort(sum(lists.lengths[name][rows] for name, rows in parts), kind="stable")
    found = []
    for part in np.array_split(order, min(chunks, len(order))):
        ids, mask = lists.texts([(name, rows[part]) for name, rows in parts])
        with torch.autocast(lists.device.type, torch.bfloat16, enabled=lists.device.type == "cuda"):
            found.append(judge(ids, mask)[:, head].float())
    back = torch.from_numpy(np.argsort(order)).to(lists.device)
    return torch.cat(found)[back]


def rate_lists(reader: Reader, lists: Lists, chosen: Array, chunks: int) -> Tensor:
    """The log shares of the units of lists, with *none* in the last column."""
    places, numbers = lists.places(chosen)
    questions = lists.questions[chosen][numbers]
    logits = rate_texts(
        reader.judge, lists, [("questions", questions), ("rows", lists.rows[places])], ANSWER_HEAD, chunks
    )
    most = int(lists.sizes[chosen].max())
    columns = places - lists.first[chosen][numbers]
    table = torch.full((len(chosen), most + 1), -torch.inf, device=lists.device)
    table[torch.from_numpy(numbers).to(lists.device), torch.from_numpy(columns).to(lists.device)] = logits
    table[:, most] = reader.none
    return functional.log_softmax(table, 1)


def find_right(lists: Lists, chosen: Array) -> Tensor:
    """Which columns of `rate_lists` are right."""
    places, numbers = lists.places(chosen)
    most = int(lists.sizes[chosen].max())
    table = np.zeros((len(chosen), most + 1), bool)
    table[numbers, places - lists.first[chosen][numbers]] = lists.right[places]
    table[:, most] = ~table[:, :most].any(1)
    return torch.from_numpy(table).to(lists.device)


def train(lists: Lists, base: Path, settings: Settings, state_file: Path | None, minutes: float) -> Reader:
    """Train until the last step, or stop after some minutes and save the state."""
    torch.manual_seed(settings.seed)
    device = lists.device
    reader, teacher = (Reader(make_judge(read_exported(base))).to(device) for _ in range(2))
    teacher.requires_grad_(requires_grad=False).eval()
    reader.judge.encoder.dropout = settings.dropout
    names = {"judge.heads.weight", "judge.heads.bias", "none"}
    heads = [one for name, one in reader.named_parameters() if name in names]
    rest = [one for name, one in reader.named_parameters() if name not in names]
    groups = [{"params": rest, "lr": settings.rate}, {"params": heads, "lr": 10 * settings.rate}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    warm = max(1, int(settings.warm * settings.steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / warm, max(0.0, (settings.steps - step) / max(1, settings.steps - warm))),
    )
    first = 0
    if state_file and state_file.exists():
        saved = torch.load(state_file, map_location=device, weights_only=True)
        reader.load_state_dict(saved["reader"])
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
        first = saved["step"]
        print(f"continues at step {first}", flush=True)
    shares, claims = lists.shares(), len(lists.claim_labels)
    began, losses = time.time(), []
    for step in range(first, settings.steps):
        rng = np.random.default_rng((settings.seed, step))
        chosen = rng.choice(len(shares), settings.batch, replace=False, p=shares)
        about = [("claims", rng.choice(claims, min(claims, settings.claims), replace=False))]
        reader.train()
        log_shares = rate_lists(reader, lists, chosen, CHUNKS)
        loss = -torch.logsumexp(log_shares.masked_fill(~find_right(lists, chosen), -torch.inf), 1).mean()
        with torch.no_grad():
            wanted = rate_texts(teacher.judge, lists, about, CLAIM_HEAD, 1).sigmoid()
        said = rate_texts(reader.judge, lists, about, CLAIM_HEAD, 1)
        total = loss + settings.of_claims * functional.binary_cross_entropy_with_logits(said, wanted)
        optimizer.zero_grad(set_to_none=True)
        total.backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        is_last, is_late = step + 1 == settings.steps, time.time() - began > 60 * minutes
        if (step + 1) % settings.every == 0 or is_last or is_late:
            print(f"step {step + 1}, {time.time() - began:.0f} s, loss {np.mean(losses):.4f}", flush=True)
            losses = []
            show(evaluate(reader, lists, settings.measured), claims_auroc(reader, lists, settings.measured))
            if state_file:
                saved = {"reader": reader.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
                torch.save(saved | {"schedule": schedule.state_dict()}, state_file)
        if is_late and not is_last:
            print("The time is up. The same command continues.", flush=True)
            break
    return reader.eval()


def make_judge(state: dict[str, Array]) -> Judge:
    layers = 1 + max(int(name.split(".")[2]) for name in state if name.startswith("encoder.layers."))
    judge = Judge(model.Encoder(len(state["encoder.words.weight"]), layers))
    judge.load_state_dict({name: torch.from_numpy(np.array(value, np.float32)) for name, value in state.items()})
    return judge


@torch.no_grad()
def evaluate(reader: Reader, lists: Lists, most: int) -> dict[str, dict[str, Array]]:
    """Of held lists of each group: the share of the best unit and of *none*, if it is right, and if any is."""
    reader.eval()
    rows: dict[str, dict[str, Array]] = {}
    for group in np.unique(lists.group[lists.is_held]):
        every = np.flatnonzero(lists.is_held & (lists.group == group))
        every = np.random.default_rng(0).permutation(every)[:most]
        every = every[np.argsort(lists.sizes[every], kind="stable")]
        best, none, right, answerable = [], [], [], []
        for at in range(0, len(every), 64):
            chosen = every[at : at + 64]
            log_shares, is_right = rate_lists(reader, lists, chosen, CHUNKS), find_right(lists, chosen)
            top = log_shares[:, :-1].max(1)
            best += top.values.exp().tolist()
            none += log_shares[:, -1].exp().tolist()
            right += is_right[torch.arange(len(chosen)), top.indices].tolist()
            answerable += (~is_right[:, -1]).tolist()
        columns = {"best": best, "none": none, "right": right, "answerable": answerable}
        rows[str(group)] = {name: np.array(column) for name, column in columns.items()}
    return rows


@torch.no_grad()
def claims_auroc(reader: Reader, lists: Lists, most: int) -> float:
    """How well claims that are supported are told from others, of the claims that were trained on."""
    rows = np.random.default_rng(0).permutation(len(lists.claim_labels))[:most]
    said = rate_texts(reader.judge.eval(), lists, [("claims", rows)], CLAIM_HEAD, 16).cpu().numpy()
    labels = lists.claim_labels[rows]
    return measure.auroc(said[labels], said[~labels])


def show(rows: dict[str, dict[str, Array]], claims: float) -> None:
    print(f"  claims AUROC {claims:.3f}")
    for group, row in rows.items():
        asked, right = row["answerable"], row["right"]
        line = f"  {group:14} P@1 {right[asked].mean():.3f}" if asked.any() else f"  {group:14}"
        if asked.any() and not asked.all():
            line += f"  AUROC of none {measure.auroc(1 - row['none'][asked], 1 - row['none'][~asked]):.3f}"
        for least in THRESHOLDS:
            kept = row["best"] >= least
            figures = ((kept & right)[asked], (kept & ~right)[asked], (~kept)[~asked])
            line += f"  {least}: " + "/".join(f"{one.mean():.2f}" if len(one) else "-" for one in figures)
        print(line, flush=True)


def calibrate(rows: dict[str, dict[str, Array]]) -> list[float]:
    """The weights of the log odds of the best share and of any, and a constant, for the probability to be right."""
    own = [row for group, row in rows.items() if group in PEOPLE]
    best, none, right = (np.concatenate([row[name] for row in own]) for name in ("best", "none", "right"))
    weights = np.concatenate([np.full(len(row["right"]), 1 / len(row["right"])) for row in own])
    table = np.stack([log_odds(best), log_odds(1 - none)], 1)
    (of_share, of_any), constant = logistic.fit(table, right.astype(float), weights / weights.mean())
    return [round(float(one), 4) for one in (of_share, of_any, constant)]


def log_odds(chances: Array) -> Array:
    odds: Array = np.log(np.maximum(chances, 1e-6) / np.maximum(1 - chances, 1e-6))
    return odds


def save(reader: Reader, rows: dict[str, dict[str, Array]], settings: Settings, out: Path) -> None:
    halves: list[dict[str, Array]] = [{} for _ in range(PARTS)]
    state = {name: value.half().cpu().numpy() for name, value in reader.judge.state_dict().items()}
    words = state.pop("encoder.words.weight")
    state |= {f"words@{at}": part for at, part in enumerate(np.array_split(words, PARTS))}
    for key in sorted(state, key=lambda one: -state[one].nbytes):
        min(halves, key=lambda half: sum(one.nbytes for one in half.values()))[key] = state[key]
    for at, half in enumerate(halves):
        np.savez(out / f"weights.{at}.npz", **half)
    about = {"none": float(reader.none), "calibration": calibrate(rows), "settings": asdict(settings)}
    (out / "reader.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    flat = {f"{group}.{name}": value for group, row in rows.items() for name, value in row.items()}
    np.savez(out / "held.npz", **flat)


def load(folder: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """The weights and what is known of them that `save` wrote."""
    state = {name: one for at in range(PARTS) for name, one in np.load(folder / f"weights.{at}.npz").items()}
    state["encoder.words.weight"] = np.concatenate([state.pop(f"words@{at}") for at in range(PARTS)])
    return state, json.loads((folder / "reader.json").read_text("utf-8"))


def export_model(folders: list[Path], out: Path, read: int) -> None:
    """Average the weights of runs, and write them as the product loads them."""
    import onnx

    from training.judge import export

    states, about = zip(*map(load, folders), strict=True)
    state = {name: np.mean([one[name].astype(np.float32) for one in states], 0) for name in states[0]}
    made = export.build(state)
    none = float(np.mean([one["none"] for one in about]))
    calibration = np.mean([one["calibration"] for one in about], 0).round(4).tolist()
    listwise = {"none": round(none, 4), "calibration": calibration, "read": read}
    onnx.helper.set_model_props(made, {"listwise": json.dumps(listwise)})
    onnx.save(made, str(out))
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB, {listwise}")
    for folder in folders:
        show_probabilities(np.load(folder / "held.npz"), calibration)


def show_probabilities(held: Any, calibration: list[float]) -> None:
    """What each probability as the least of an answer gives on held questions by people, to choose `READ_FROM`."""
    of_share, of_any, constant = calibration
    for group in [one for one in PEOPLE if f"{one}.best" in held]:
        best, none, right, asked = (held[f"{group}.{name}"] for name in ("best", "none", "right", "answerable"))
        probability = 1 / (1 + np.exp(-of_share * log_odds(best) - of_any * log_odds(1 - none) - constant))
        for least in np.arange(0.2, 0.75, 0.05):
            kept = probability >= least
            figures = [
                (kept & asked & right).sum() / max(1, asked.sum()),
                (kept & asked & ~right).sum() / max(1, asked.sum()),
                (~asked & ~kept).sum() / max(1, (~asked).sum()),
            ]
            shown = " ".join(f"{one:.3f}" for one in figures)
            print(f"  {group:14} {least:.2f} right, wrong, unanswerable refused: {shown}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.judge.listwise", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    training = steps.add_parser("train")
    for name in ("lists", "base", "out"):
        training.add_argument(name, type=Path)
    for name, value in asdict(Settings()).items():
        training.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    training.add_argument("--state", type=Path)
    training.add_argument("--minutes", type=float, default=9.0)
    exporting = steps.add_parser("export")
    exporting.add_argument("folders")
    exporting.add_argument("out", type=Path)
    exporting.add_argument("--read", type=int, default=8, help="Units that the product reads for a question.")
    given = parser.parse_args()
    if given.step == "export":
        export_model([Path(one) for one in given.folders.split(",")], given.out, given.read)
        return
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    given.out.mkdir(parents=True, exist_ok=True)
    lists = Lists(given.lists, device)
    settings = Settings(**{name: getattr(given, name) for name in asdict(Settings())})
    print(
        f"{(~lists.is_held).sum()} lists, {lists.is_held.sum()} held, {len(lists.claim_labels)} claims, {settings}",
        flush=True,
    )
    reader = train(lists, given.base, settings, given.state, given.minutes)
    save(reader, evaluate(reader, lists, settings.measured), settings, given.out)


if __name__ == "__main__":
    main()
