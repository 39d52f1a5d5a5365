"""Trains the reader: one decision over the units of a list, with a class for no answer.

`python -m training.judge.listwise train LISTS BASE OUT` starts from the weights of BASE and needs torch and numpy
alone. LISTS is made by `training.judge.unit_lists` and `training.judge.list_tokens`. BASE is an exported judge, or the
embedder `tools`, of which the first layers become a reader of all languages, or what `training.judge.network` made of
one, which needs no onnx. Every unit gets a logit, and *none* one learned number; the loss is the cross-entropy of those
that answer. Claims, if there are any, keep the logits of BASE. OUT gets the weights in 16 bits, in parts, and the
settings; what is measured on held lists is printed. The rate falls to zero at the last step, or when `--minutes` of
training are over; `--stop` ends one process before that, and `--state` is a file from which the same command continues.

`python -m training.judge.listwise export OUT BASE MODEL` writes the file that the product loads, in 8 bits. Several
OUT, joined by commas, are averaged. If BASE is the embedder, MODEL refers to the words in it. `training.judge.reader`
or `training.judge.other_languages` then fits what the product makes of its logits.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, func, nn
from torch.nn import functional

from training import measure, model
from training.judge.network import ANSWER_HEAD, CLAIM_HEAD, WORDS, Array, Judge, read_base, read_exported, take_layers

# How often a list of each source is drawn, relative to the others that are not made from structure.
SHARES = {
    "asked": 0.30,
    "everyday": 0.15,
    "written": 0.25,
    "squad2": 0.20,
    "selqa": 0.06,
    "medquad": 0.03,
    "techdocs": 0.05,
    "asked other": 0.15,
    "everyday other": 0.20,
    "passage": 0.06,
    "passage other": 0.16,
}
# The same of the lists of tools, which have a share of their own.
TOOL_SHARES = {"tools": 0.5, "tools other": 0.5}
WRITTEN = "documentation"  # has the units that the product describes, in the order in which it reads them
HELD_CLAIMS = 5  # each fifth claim is only measured
MOST_WRONG = 0.12  # of the questions with an answer, by which runs are compared
CHUNKS = 4  # of a batch, by length, so that little is padding
PARTS = 2  # files of the weights
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
SHOWN = (1, 20, 100)  # steps, besides those that are measured


@dataclass(frozen=True)
class Settings:
    steps: int = 4_000
    minutes: float = 8.0
    batch: int = 96  # lists of a step
    units: int = 8  # of a list, at most, so that it is like those that the product reads
    structure: float = 0.45  # of the lists of units are made from structure
    tools: float = 0.0  # of all lists are of tools
    claims: int = 48
    rate: float = 6e-5
    warm: float = 0.06
    dropout: float = 0.1
    of_claims: float = 0.5  # the weight of their loss
    every: int = 500  # steps between two measurements
    measured: int = 1_500  # held lists of a group, and claims, at most
    read: int = 8  # units of a held list that people wrote
    seed: int = 0
    layers: int = 8  # of the base, at most


class Reader(nn.Module):
    """The judge, and the logit of *none*."""

    def __init__(self, judge: Judge) -> None:
        super().__init__()
        self.judge = judge
        self.none = nn.Parameter(torch.zeros(()))


class Units(NamedTuple):
    """Units of some lists: their places among all, the number of their list, and their place in it."""

    places: Array
    numbers: Array
    columns: Array


class Lists:
    """The prepared lists, on a device."""

    def __init__(self, path: Path, device: torch.device) -> None:
        loaded = np.load(io.BytesIO(lzma.decompress(path.read_bytes())))
        self.device, self.first_token = device, int(loaded["first_token"])
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
        self.group[~np.isin(self.group, [*SHARES, *TOOL_SHARES, WRITTEN, "squad2 unseen"])] = "made"
        self.group[self.group == "squad2 unseen"] = "squad2"

    def shares(self, structure: float, tools: float) -> Array:
        """The chance of each list to be drawn."""
        of_units = {**SHARES, "made": sum(SHARES.values()) * structure / (1 - structure)}
        chances = np.zeros(len(self.sizes))
        for shares, whole in ((of_units, 1 - tools), (TOOL_SHARES, tools)):
            for name, share in shares.items():
                own = (self.group == name) & ~self.is_held
                chances[own] = whole * share / sum(shares.values()) / max(1, own.sum())
        return chances / chances.sum()

    def read(self, lists: Array, most: int) -> Units:
        """The units of lists; of those that people wrote, the first ones."""
        sizes = np.where(self.group[lists] == WRITTEN, np.minimum(self.sizes[lists], most), self.sizes[lists])
        return self._join([np.arange(size) for size in sizes], lists)

    def sample(self, lists: Array, most: int, rng: np.random.Generator) -> Units:
        """The units that are right, and wrong ones by chance."""
        kept = []
        for at in lists:
            right = self.right[self.first[at] : self.first[at] + self.sizes[at]]
            kept.append(np.argsort(np.where(right, -1.0, rng.random(len(right))))[:most])
        return self._join(kept, lists)

    def _join(self, columns: list[Array], lists: Array) -> Units:
        numbers = np.repeat(np.arange(len(lists)), [len(own) for own in columns])
        flat = np.concatenate(columns)
        return Units(self.first[lists][numbers] + flat, numbers, flat)

    def texts(self, parts: list[tuple[str, Array]]) -> tuple[Tensor, Tensor]:
        """Token numbers and mask of texts that are joined from parts, after the first token."""
        lengths = [self.lengths[name][rows] for name, rows in parts]
        most = -(-(1 + int(sum(lengths).max())) // 8) * 8  # a length that is fast
        ids = torch.zeros((len(lengths[0]), most), dtype=torch.int64, device=self.device)
        ids[:, 0] = self.first_token
        places = torch.arange(most, device=self.device)
        begin = torch.full((len(ids),), 1, device=self.device)
        for (name, rows), own in zip(parts, lengths, strict=True):
            count = torch.from_numpy(own).to(self.device)
            start = torch.from_numpy(self.starts[name][rows]).to(self.device)
            inside = (places >= begin[:, None]) & (places < (begin + count)[:, None])
            found = self.ids[name][torch.where(inside, start[:, None] + places - begin[:, None], 0)]
            ids = torch.where(inside, found.long(), ids)
            begin = begin + count
        return ids, places < begin[:, None]


def rate_texts(judge: Judge, lists: Lists, parts: list[tuple[str, Array]], head: int, chunks: int) -> Tensor:
    """The logits of texts, which are read in chunks of about one length.

    The encoder has 16 bits on an accelerator and on a processor that multiplies matrices of them.
    """
    order = np.argsort(sum(lists.lengths[name][rows] for name, rows in parts), kind="stable")
    is_short = lists.device.type == "cuda" or torch.cpu._is_amx_tile_supported()
    weights = {name: value.bfloat16() for name, value in judge.named_parameters() if name.startswith("encoder")}
    found = []
    for part in np.array_split(order, min(chunks, len(order))):
        texts = lists.texts([(name, rows[part]) for name, rows in parts])
        found.append(func.functional_call(judge, weights if is_short else {}, texts)[:, head].float())
    back = torch.from_numpy(np.argsort(order)).to(lists.device)
    return torch.cat(found)[back]


def rate_lists(reader: Reader, lists: Lists, chosen: Array, units: Units) -> Tensor:
    """The log shares of the units of lists, with *none* in the last column."""
    parts = [("questions", lists.questions[chosen][units.numbers]), ("rows", lists.rows[units.places])]
    logits = rate_texts(reader.judge, lists, parts, ANSWER_HEAD, CHUNKS)
    most = int(units.columns.max()) + 1
    table = torch.full((len(chosen), most + 1), -torch.inf, device=lists.device)
    rows, columns = (torch.from_numpy(one).to(lists.device) for one in (units.numbers, units.columns))
    table[rows, columns] = logits
    table[:, most] = reader.none
    return functional.log_softmax(table, 1)


def find_right(lists: Lists, chosen: Array, units: Units) -> Tensor:
    """Which columns of `rate_lists` are right."""
    most = int(units.columns.max()) + 1
    table = np.zeros((len(chosen), most + 1), bool)
    table[units.numbers, units.columns] = lists.right[units.places]
    table[:, most] = ~table[:, :most].any(1)
    return torch.from_numpy(table).to(lists.device)


def train(lists: Lists, base: Path, settings: Settings, state_file: Path | None, stop: float) -> Reader:
    """Train until the last step or minute, or stop after some minutes; the state is saved at each measurement."""
    torch.manual_seed(settings.seed)
    device = lists.device
    state = take_layers(read_base(base), settings.layers)
    reader, teacher = (Reader(make_judge(state)).to(device) for _ in range(2))
    teacher.requires_grad_(requires_grad=False).eval()
    reader.judge.encoder.dropout = settings.dropout
    reader.judge.encoder.words.requires_grad_(requires_grad=False)
    names = {"judge.heads.weight", "judge.heads.bias", "none"}
    heads = [one for name, one in reader.named_parameters() if name in names]
    rest = [one for name, one in reader.named_parameters() if name not in names and one.requires_grad]
    groups = [{"params": rest, "times": 1.0}, {"params": heads, "times": 10.0}]
    optimizer = torch.optim.AdamW(groups, lr=settings.rate, weight_decay=0.01, fused=device.type == "cuda")
    first, spent = 0, 0.0
    if state_file and state_file.exists():
        saved = torch.load(state_file, map_location=device, weights_only=True)
        reader.load_state_dict(saved["reader"])
        optimizer.load_state_dict(saved["optimizer"])
        first, spent = saved["step"], saved["spent"]
        print(f"continues at step {first}", flush=True)
    else:
        show(evaluate(reader, lists, settings))
    shares = lists.shares(settings.structure, settings.tools)
    claims = np.flatnonzero(np.arange(len(lists.claim_labels)) % HELD_CLAIMS)
    began, losses = time.time(), []
    for step in range(first, settings.steps):
        now = spent + time.time() - began
        done = max(step / settings.steps, now / 60 / settings.minutes)
        for group in optimizer.param_groups:
            group["lr"] = group["times"] * settings.rate * max(0.0, min((done + 1e-3) / settings.warm, 1 - done))
        rng = np.random.default_rng((settings.seed, step))
        chosen = rng.choice(len(shares), settings.batch, replace=False, p=shares)
        units = lists.sample(chosen, settings.units, rng)
        reader.train()
        log_shares = rate_lists(reader, lists, chosen, units)
        total = loss = -torch.logsumexp(log_shares.masked_fill(~find_right(lists, chosen, units), -torch.inf), 1).mean()
        if len(claims):
            about = [("claims", rng.choice(claims, min(len(claims), settings.claims), replace=False))]
            with torch.no_grad():
                wanted = rate_texts(teacher.judge, lists, about, CLAIM_HEAD, 1).sigmoid()
            said = rate_texts(reader.judge, lists, about, CLAIM_HEAD, 1)
            total = loss + settings.of_claims * functional.binary_cross_entropy_with_logits(said, wanted)
        optimizer.zero_grad(set_to_none=True)
        total.backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        now = spent + time.time() - began
        is_last = step + 1 == settings.steps or now > 60 * settings.minutes
        is_late = now - spent > 60 * stop
        if step + 1 in SHOWN or (step + 1) % settings.every == 0 or is_last or is_late:
            print(f"step {step + 1}, {now:.0f} s, loss {np.mean(losses):.4f}", flush=True)
            losses = []
        if (step + 1) % settings.every == 0 and not is_last:
            show(evaluate(reader, lists, settings), compare_claims(reader, teacher, lists, settings.measured))
        if state_file and (is_last or is_late or (step + 1) % settings.every == 0):
            saved = {"reader": reader.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
            torch.save(saved | {"spent": spent + time.time() - began}, state_file)
        if is_last or is_late:
            print("Trained." if is_last else "The time is up. The same command continues.", flush=True)
            break
    if len(claims):
        print(f"claims {compare_claims(reader, teacher, lists, settings.measured)}", flush=True)
    return reader.eval()


def make_judge(state: dict[str, Array]) -> Judge:
    layers = 1 + max(int(name.split(".")[2]) for name in state if name.startswith("encoder.layers."))
    judge = Judge(model.Encoder(len(state["encoder.words.weight"]), layers))
    heads = {f"heads.{name}": value for name, value in judge.heads.state_dict().items()}  # an embedder has none
    given = {name: torch.from_numpy(np.array(value, np.float32)) for name, value in state.items()}
    judge.load_state_dict(heads | given)
    return judge


@torch.no_grad()
def evaluate(reader: Reader, lists: Lists, settings: Settings, read: int = 0) -> dict[str, dict[str, Array]]:
    """Of held lists of each group: the share of the best unit and of *none*, if it is right, and if any is."""
    reader.eval()
    rows: dict[str, dict[str, Array]] = {}
    for group in np.unique(lists.group[lists.is_held]):
        every = np.flatnonzero(lists.is_held & (lists.group == group))
        every = np.random.default_rng(0).permutation(every)[: settings.measured]
        every = every[np.argsort(lists.sizes[every], kind="stable")]
        best, none, right, answerable = [], [], [], []
        is_asked = np.isin(lists.source[every], [f"{WRITTEN}, answered", f"{WRITTEN}, not shown"])
        for at in range(0, len(every), 64):
            chosen = every[at : at + 64]
            units = lists.read(chosen, read or settings.read)
            log_shares = rate_lists(reader, lists, chosen, units)
            is_right = find_right(lists, chosen, units)
            top = log_shares[:, :-1].max(1)
            best += top.values.exp().tolist()
            none += log_shares[:, -1].exp().tolist()
            right += is_right[torch.arange(len(chosen)), top.indices].tolist()
            answerable += (~is_right[:, -1]).tolist()
        columns = {"best": best, "none": none, "right": right, "answerable": answerable}
        columns["asked"] = is_asked | np.array(answerable)  # has an answer, perhaps in none of these units
        rows[str(group)] = {name: np.array(column) for name, column in columns.items()}
    return rows


@torch.no_grad()
def compare_claims(reader: Reader, teacher: Reader, lists: Lists, most: int) -> str:
    """How well supported claims are told from others before and after training, on claims that it did not see."""
    rows = np.arange(0, len(lists.claim_labels), HELD_CLAIMS)[:most]
    if not len(rows):
        return ""
    labels = lists.claim_labels[rows]
    said = [
        rate_texts(one.judge.eval(), lists, [("claims", rows)], CLAIM_HEAD, 32).sigmoid().cpu().numpy()
        for one in (teacher, reader)
    ]
    before, after = (measure.auroc(one[labels], one[~labels]) for one in said)
    agree = np.mean((said[0] > 0.5) == (said[1] > 0.5))
    return f"AUROC before {before:.3f}, after {after:.3f}, the same verdict for {agree:.3f}"


def show(rows: dict[str, dict[str, Array]], claims: str = "") -> None:
    if claims:
        print(f"  claims {claims}")
    for group, row in rows.items():
        answerable, asked, right = row["answerable"], row["asked"], row["right"]
        line = f"  {group:14}"
        if answerable.any():
            line += f" P@1 {right[answerable].mean():.3f}"
        if answerable.any() and not answerable.all():
            line += f"  AUROC of none {measure.auroc(1 - row['none'][answerable], 1 - row['none'][~answerable]):.3f}"
        if asked.any():
            least = find_least(row)
            kept = row["best"] >= least
            line += f"  with {MOST_WRONG:.0%} wrong: right {(kept & right)[asked].mean():.3f}"
            line += f" refused {(~kept)[~asked].mean():.3f} from {least:.2f}" if not asked.all() else ""
        for least in THRESHOLDS:
            kept = row["best"] >= least
            figures = ((kept & right)[asked], (kept & ~right)[asked], (~kept)[~asked])
            line += f"  {least}: " + "/".join(f"{one.mean():.2f}" if len(one) else "-" for one in figures)
        print(line, flush=True)


def find_least(row: dict[str, Array]) -> float:
    """The least share of an answer with which few of the questions with an answer get a wrong one."""
    asked = row["asked"]
    wrong = np.sort(row["best"][asked & ~row["right"]])[::-1]
    allowed = int(MOST_WRONG * asked.sum())
    return float(np.nextafter(wrong[allowed], 1)) if len(wrong) > allowed else 0.0


def save(reader: Reader, settings: Settings, out: Path) -> None:
    halves: list[dict[str, Array]] = [{} for _ in range(PARTS)]
    state = {name: value.half().cpu().numpy() for name, value in reader.judge.state_dict().items()}
    del state[WORDS]
    for key in sorted(state, key=lambda one: -state[one].nbytes):
        min(halves, key=lambda half: sum(one.nbytes for one in half.values()))[key] = state[key]
    for at, half in enumerate(halves):
        np.savez(out / f"weights.{at}.npz", **half)
    about = {"none": reader.none.item(), "settings": asdict(settings)}
    (out / "reader.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")


def load(folder: Path) -> dict[str, Array]:
    """The weights that `save` wrote."""
    return {name: one for at in range(PARTS) for name, one in np.load(folder / f"weights.{at}.npz").items()}


def export_model(folders: list[Path], base: Path, out: Path) -> None:
    """Average the weights of runs, and write them as the product loads them."""
    import onnx

    from training.judge import export

    states = [load(folder) for folder in folders]
    state = {name: np.mean([one[name].astype(np.float32) for one in states], 0) for name in states[0]}
    if "heads.weight" in read_exported(base):
        made = export.build(state | {WORDS: read_exported(base)[WORDS]})
    else:
        made = export.build(state | export.read_words(base))
        export.share_words(made, base)
    onnx.save(made, str(out))
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.judge.listwise", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    training = steps.add_parser("train")
    for name in ("lists", "base", "out"):
        training.add_argument(name, type=Path)
    for name, value in asdict(Settings()).items():
        training.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    training.add_argument("--state", type=Path)
    training.add_argument("--stop", type=float, default=9.0, help="Minutes of this process.")
    exporting = steps.add_parser("export")
    exporting.add_argument("folders")
    for name in ("base", "out"):
        exporting.add_argument(name, type=Path)
    given = parser.parse_args()
    if given.step == "export":
        export_model([Path(one) for one in given.folders.split(",")], given.base, given.out)
        return
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    given.out.mkdir(parents=True, exist_ok=True)
    lists = Lists(given.lists, device)
    settings = Settings(**{name: getattr(given, name) for name in asdict(Settings())})
    print(
        f"{(~lists.is_held).sum()} lists, {lists.is_held.sum()} held, {len(lists.claim_labels)} claims, {settings}",
        flush=True,
    )
    reader = train(lists, given.base, settings, given.state, given.stop)
    for read in (12, 16, 24, settings.read):
        rows = evaluate(reader, lists, settings, read)
        print(f"{read} units of those that people wrote")
        show({name: row for name, row in rows.items() if read == settings.read or name == WRITTEN})
    save(reader, settings, given.out)


if __name__ == "__main__":
    main()
