"""Training of the judge: one encoder that reads two texts together, with a head for claims and one for answers."""

from __future__ import annotations

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

from shortlist.index.embedders.cross_encoder import ANSWER, CLAIM
from training import measure, model
from training.judge.data import UNSEEN
from training.judge.network import Judge, pack

# How often a batch draws from each source; half of what is drawn is right.
SHARES = {
    CLAIM: {
        "wiki": 0.4,
        "fever_symmetric": 0.12,
        "fool_me_twice": 0.08,
        "breaking_nli": 0.08,
        "wice": 0.03,
        "squad2": 0.05,
        "written": 0.24,
    },
    ANSWER: {
        "wiki": 0.18,
        "squad2": 0.22,
        "squad2 near": 0.16,
        "selqa": 0.12,
        "medquad": 0.05,
        "techdocs": 0.03,
        "written": 0.16,
        "written near": 0.08,
    },
}
Array = np.ndarray[Any, Any]
Folds = tuple[int, ...]


@dataclass(frozen=True)
class Settings:
    steps: int = 1_000
    batch: int = 128  # of each task
    rate: float = 1e-4
    warm: float = 0.1
    dropout: float = 0.1
    real: float = 1.0  # factor on the shares of what people wrote
    right: float = 0.5
    soup: int = 1
    seed: int = 0


class Data:
    def __init__(self, path: Path) -> None:
        loaded = np.load(io.BytesIO(lzma.decompress(path.read_bytes())))
        self.ids: Array = loaded["ids"].astype(np.int64)
        self.lengths: Array = loaded["lengths"].astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        self.task, self.label, self.fold, self.group = (loaded[name] for name in ("task", "label", "fold", "group"))
        self.source = loaded["sources"][loaded["source"]]
        self._on_device: Tensor | None = None

    def batch(self, rows: Array, device: torch.device) -> tuple[Tensor, Tensor]:
        if self._on_device is None:
            self._on_device = torch.from_numpy(self.ids).to(device)
        lengths = torch.from_numpy(self.lengths[rows]).to(device)
        starts = torch.from_numpy(self.starts[rows]).to(device)
        places = torch.arange(int(self.lengths[rows].max()), device=device)
        mask = places < lengths[:, None]
        return self._on_device[torch.where(mask, starts[:, None] + places, 0)] * mask, mask

    def pools(self, left_out: Folds) -> dict[int, list[tuple[float, list[Array]]]]:
        """For each task the shares and rows (wrong, right) of each source, without those of some folds."""
        pools: dict[int, list[tuple[float, list[Array]]]] = {}
        usable = ~np.isin(self.fold, left_out)
        for task, shares in SHARES.items():
            for source, share in shares.items():
                rows = usable & (self.task == task) & (self.source == source)
                if not rows.any():
                    continue
                pools.setdefault(task, []).append(
                    (share, [np.flatnonzero(rows & (self.label <= 0.5)), np.flatnonzero(rows & (self.label > 0.5))])
                )
        return pools


def trained(start: model.Encoder, data: Data, settings: Settings, left_out: Folds, device: torch.device) -> Judge:
    torch.manual_seed(settings.seed)
    rng = np.random.default_rng(settings.seed)
    judge = Judge(start).to(device)
    judge.encoder.dropout = settings.dropout
    judge.train()
    pools = data.pools(left_out)
    heads = [parameter for name, parameter in judge.named_parameters() if name.startswith("heads")]
    rest = [parameter for name, parameter in judge.named_parameters() if not name.startswith("heads")]
    parameters = [{"params": rest, "lr": settings.rate}, {"params": heads, "lr": 10 * settings.rate}]
    optimizer = torch.optim.AdamW(parameters, weight_decay=0.01)
    warm = max(1, int(settings.warm * settings.steps))

    def rate(step: int) -> float:
        return min((step + 1) / warm, max(0.0, (settings.steps - step) / max(1, settings.steps - warm)))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    for _ in range(settings.steps):
        loss = torch.zeros((), device=device)
        for task in (CLAIM, ANSWER):
            rows = _draw(pools[task], settings, rng)
            ids, mask = data.batch(rows, device)
            with torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
                found = judge(ids, mask)[:, task]
            labels = torch.from_numpy(data.label[rows].astype(np.float32)).to(device)
            loss = loss + functional.binary_cross_entropy_with_logits(found.float(), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return judge.eval()


def _draw(pools: list[tuple[float, list[Array]]], settings: Settings, rng: np.random.Generator) -> Array:
    shares = np.array([share * (1 if at == 0 else settings.real) for at, (share, _) in enumerate(pools)])
    counts = rng.multinomial(settings.batch, shares / shares.sum())
    rows = []
    for count, (_, sides) in zip(counts, pools, strict=True):
        right = rng.binomial(count, settings.right) if len(sides[0]) and len(sides[1]) else count * bool(len(sides[1]))
        for side, most in ((sides[1], right), (sides[0], count - right)):
            if most:
                rows.append(rng.choice(side, most))
    return np.concatenate(rows).astype(np.int64)


@torch.no_grad()
def scores(judge: Judge, data: Data, rows: Array, device: torch.device) -> Array:
    order = rows[np.argsort(data.lengths[rows], kind="stable")]
    found = np.zeros(len(data.lengths), np.float32)
    for at in range(0, len(order), 512):
        part = order[at : at + 512]
        ids, mask = data.batch(part, device)
        with torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
            logits = judge(ids, mask).float().cpu().numpy()
        found[part] = logits[np.arange(len(part)), data.task[part]]
    return found[rows]


def measured(
    judge: Judge, data: Data, left_out: Folds, device: torch.device
) -> tuple[dict[str, float], dict[str, Array]]:
    """Figures on what was left out, and the scores behind them."""
    kept: dict[str, Array] = {}
    figures = {}
    fever = np.flatnonzero((data.source == "fever_symmetric") & np.isin(data.fold, left_out))
    selqa = np.flatnonzero((data.source == "selqa") & np.isin(data.fold, left_out))
    unseen = np.flatnonzero(data.source == UNSEEN)
    for name, rows in (("fever", fever), ("selqa", selqa), ("squad2", unseen)):
        if not len(rows):
            continue
        found, labels = scores(judge, data, rows, device), data.label[rows] > 0.5
        kept[f"{name}.rows"], kept[f"{name}.scores"] = rows, found.astype(np.float16)
        if name == "fever":
            figures["fever auroc"] = measure.auroc(found[labels], found[~labels])
            figures["fever balanced"] = (np.mean(found[labels] > 0) + np.mean(found[~labels] <= 0)) / 2
            continue
        groups = data.group[rows]
        best, first = {}, {}
        for group, score, label in sorted(zip(groups, found, labels, strict=True), key=lambda row: -row[1]):
            best.setdefault(group, score)
            first.setdefault(group, label)
        answerable = set(groups[labels])
        figures[f"{name} first"] = float(np.mean([first[group] for group in answerable]))
        if name == "squad2":
            every = list(best)
            scored = np.array([best[group] for group in every])
            is_answerable = np.array([group in answerable for group in every])
            figures["squad2 auroc"] = measure.auroc(scored[is_answerable], scored[~is_answerable])
    return figures, kept


def run(
    name: str, encoder: model.Encoder, data: Data, settings: Settings, left_out: Folds, out: Path, keep: bool
) -> None:
    """Train, print what was measured, and keep the weights."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    began = time.time()
    states = []
    begin = {key: value.clone() for key, value in encoder.state_dict().items()}
    for seed in range(settings.soup):
        encoder.load_state_dict(begin)
        judge = trained(encoder, data, Settings(**asdict(settings) | {"seed": settings.seed + seed}), left_out, device)
        states.append({key: value.detach().clone() for key, value in judge.state_dict().items()})
        if settings.soup > 1:
            figures, _ = measured(judge, data, left_out, device)
            _print(f"  {name} seed {seed}", figures)
    judge.load_state_dict(model.mean(states))
    figures, kept = measured(judge, data, left_out, device)
    _print(f"{name} {time.time() - began:.0f}s", figures)
    if keep:
        halves: list[dict[str, Array]] = [{}, {}]
        packed = pack({key: value.float().cpu().numpy() for key, value in judge.state_dict().items()})
        for key in sorted(packed, key=lambda one: -packed[one].nbytes):
            min(halves, key=lambda half: sum(one.nbytes for one in half.values()))[key] = packed[key]
        for at, half in enumerate(halves):
            np.savez(out / f"{name}.{at}.npz", **half)
    if kept:
        np.savez(out / f"{name}.scores.npz", **kept)


def _print(name: str, figures: dict[str, float]) -> None:
    print(name, json.dumps({key: round(value, 4) for key, value in figures.items()}), flush=True)
