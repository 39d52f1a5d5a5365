"""What readers of office files, books, mail and notebooks find in them, and what they cost.

`python -m bench formats [NAME=PYTHON...]` makes files of every format from texts below with LibreOffice, downloads more
from Debian packages (bench/cases/formats.json), and reads them with shortlist and with each other reader that an
interpreter is given for, such as `kreuzberg=venv/bin/python`. Expected are headings (lines that begin with #),
rows of Markdown tables that have a header, lines with several values (of spreadsheets), and facts (any text).
Sizes and licenses are those of all that is installed beside an interpreter except pip; give an environment with only
the reader, also for shortlist.
"""

from __future__ import annotations

import base64
import csv
import functools
import gzip
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from email.message import EmailMessage
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases" / "formats.json"
Block = str | list[list[str]]

TEXTS: dict[str, list[Block]] = {
    "staff": [
        "# Staff handbook",
        "This handbook applies to all employees of the northern branches.",
        "## Branches",
        [["Region", "Manager", "Since"], ["Bergen", "Lars Holm", "2019"], ["Tromsø", "Astrid Nilsen", "2021"]],
        "## Vacation",
        "Each employee has 25 days of paid vacation. Unused days expire on March 31.",
    ],
    "pump": [
        "# Pump PX-40",
        "The pump moves water at temperatures between 4 and 60 degrees Celsius.",
        "## Technical data",
        [["Property", "Value", "Unit"], ["Maximum flow", "40", "l/min"], ["Power", "350", "W"], ["Noise", "54", "dB"]],
        "## Maintenance",
        "Replace the seal after 2,000 hours of operation.",
        [["Part", "Number"], ["Seal kit", "PX-40-S"], ["Impeller", "PX-40-I"]],
    ],
    "merged": [
        "# Zeitplan für die Übergabe",
        "Die Übergabe dauert zwei Tage; am zweiten wird geprüft.",
        "## Termine",
        [["Tag", "Uhrzeit", "Thema"], ["Montag", "9:00", "Begrüßung"], ["Montag", "14:30", "Prüfung | Abnahme"]],
        "### Anmerkung",
        "Änderungen teilt Frau Müller mit.",
    ],
}
SLIDES: dict[str, list[list[Block]]] = {
    "review": [
        ["# Quarterly review", "Revenue grew by 12 percent."],
        ["# Revenue by region", [["Region", "Q1", "Q2"], ["North", "1.2", "1.4"], ["South", "0.8", "0.9"]]],
        ["# Next steps", "Hire two engineers in Bergen.", "Open the office in Narvik."],
    ],
    "course": [
        ["# Fire safety", "Extinguishers are checked every two years."],
        ["# Who to call", [["Case", "Number"], ["Fire", "110"], ["Ambulance", "113"]]],
    ],
}
SHEETS = {
    "stock": [["Item", "Shelf", "Pieces"], ["Seal kit", "A12", "14"], ["Impeller", "B03", "2"]],
    "prices": [["Article", "Price", "Currency"], ["Pump PX-40", "349", "EUR"], ["Hose 5 m", "29.5", "EUR"]],
}


def run(arguments: list[Path]) -> None:
    from bench import report

    readers = {"shortlist": sys.executable, **dict(str(argument).split("=", 1) for argument in arguments)}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "files"
        folder.mkdir()
        expected = make_files(folder, Path(place)) | fetch_files(folder, Path(place))
        figures = {name: measure(name, python, folder, Path(place), expected) for name, python in readers.items()}
    for name, row in figures.items():
        print(name, json.dumps({key: value for key, value in row.items() if key != "missing"}, indent=2))
    report.save("formats", {"files": len(expected), "readers": figures})


# Files


def make_files(folder: Path, place: Path) -> dict[str, dict[str, Any]]:
    """Files of every format, and what is expected in each."""
    expected: dict[str, dict[str, Any]] = {}
    for name, blocks in TEXTS.items():
        wanted = _expect(blocks)
        (folder / f"{name}.html").write_text(_to_html(blocks), "utf-8")
        _convert(folder / f"{name}.html", place, "odt", "--infilter=HTML (StarWriter)")
        for suffix in ("docx", "rtf", "pdf", "epub"):
            _convert(place / f"{name}.odt", folder, suffix)
        shutil.copy(place / f"{name}.odt", folder)
        expected |= {f"{name}.{suffix}": wanted for suffix in ("html", "odt", "docx", "rtf", "pdf", "epub")}
    for name, slides in SLIDES.items():
        blocks = [block.lstrip("# ") if isinstance(block, str) else block for slide in slides for block in slide]
        wanted = _expect(blocks)  # without headings: LibreOffice stores no titles of slides without a layout
        flat = place / f"{name}.fodp"
        flat.write_text(_to_flat_slides(slides), "utf-8")
        for suffix in ("odp", "pptx", "pdf"):
            _convert(flat, folder, suffix)
            expected[f"{name}.{suffix}"] = wanted
    for name, rows in SHEETS.items():
        with (place / f"{name}.csv").open("w", encoding="utf-8", newline="") as data:
            csv.writer(data).writerows(rows)
        for suffix in ("xlsx", "ods", "xls"):
            _convert(place / f"{name}.csv", folder, suffix)
            expected[f"{name}.{suffix}"] = {"headings": [], "rows": [], "lines": rows[1:], "facts": rows[0]}
    return expected | _make_mail(folder) | _make_notebook(folder)


def _expect(blocks: list[Block]) -> dict[str, Any]:
    texts = [block for block in blocks if isinstance(block, str)]
    tables = [block for block in blocks if isinstance(block, list)]
    return {
        "headings": [text.lstrip("# ") for text in texts if text.startswith("#")],
        "rows": [row for table in tables for row in table],
        "facts": [text for text in texts if not text.startswith("#")],
    }


def _to_html(blocks: list[Block]) -> str:
    parts = []
    for block in blocks:
        if isinstance(block, list):
            head, *rows = block
            lines = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
            lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
            parts.append(f"<table border=1>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>")
        elif block.startswith("#"):
            marks, _, text = block.partition(" ")
            parts.append(f"<h{len(marks)}>{escape(text)}</h{len(marks)}>")
        else:
            parts.append(f"<p>{escape(block)}</p>")
    return f"<html><head><meta charset=utf-8></head><body>{''.join(parts)}</body></html>"


_FLAT = """<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"
 xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"
 office:version="1.2" office:mimetype="application/vnd.oasis.opendocument.presentation">
<office:body><office:presentation>%s</office:presentation></office:body></office:document>"""


def _to_flat_slides(slides: list[list[Block]]) -> str:
    pages = []
    for number, blocks in enumerate(slides, 1):
        frames = []
        for at, block in enumerate(blocks):
            box = f'svg:width="22cm" svg:height="3cm" svg:x="2cm" svg:y="{1 + 4 * at}cm"'
            if isinstance(block, list):
                rows = "".join(
                    "<table:table-row>"
                    + "".join(f"<table:table-cell><text:p>{escape(cell)}</text:p></table:table-cell>" for cell in row)
                    + "</table:table-row>"
                    for row in block
                )
                columns = "<table:table-column/>" * len(block[0])
                frames.append(f"<draw:frame {box}><table:table>{columns}{rows}</table:table></draw:frame>")
            else:
                kind = "title" if block.startswith("#") else "outline"
                text = f"<draw:text-box><text:p>{escape(block.lstrip('# '))}</text:p></draw:text-box>"
                frames.append(f'<draw:frame presentation:class="{kind}" {box}>{text}</draw:frame>')
        pages.append(f'<draw:page draw:name="page{number}">{"".join(frames)}</draw:page>')
    return _FLAT % "".join(pages)


def _make_mail(folder: Path) -> dict[str, dict[str, Any]]:
    plain, page, carrier = EmailMessage(), EmailMessage(), EmailMessage()
    for message, subject in ((plain, "Überfällige Rechnung"), (page, "New prices"), (carrier, "Data sheet")):
        message["From"], message["To"] = "Lars Holm <lars@example.org>", "astrid@example.org"
        message["Subject"], message["Date"] = subject, "Tue, 3 Nov 2026 10:00:00 +0100"
    plain.set_content("Die Rechnung 4711 ist überfällig.\n", cte="base64")
    page.set_content("<h1>Prices</h1><p>From May on.</p>" + _to_html([SHEETS["prices"]]), subtype="html")
    carrier.set_content("See the attachment.")
    carrier.add_attachment((folder / "pump.docx").read_bytes(), "application", "octet-stream", filename="pump.docx")
    for name, message in (("plain", plain), ("page", page), ("carrier", carrier)):
        (folder / f"{name}.eml").write_bytes(message.as_bytes())
    box = b"".join(b"From x Tue Nov  3 10:00:00 2026\n" + one.as_bytes() + b"\n\n" for one in (plain, page))
    (folder / "box.mbox").write_bytes(box)
    head = ["Lars Holm"]
    facts = {
        "plain.eml": ["Überfällige Rechnung", "Die Rechnung 4711 ist überfällig."],
        "page.eml": ["New prices", "From May on."],
        "carrier.eml": ["See the attachment.", "pump.docx", "Replace the seal after 2,000 hours of operation."],
        "box.mbox": ["Überfällige Rechnung", "Die Rechnung 4711 ist überfällig.", "From May on."],
    }
    rows = {"page.eml": SHEETS["prices"], "box.mbox": SHEETS["prices"], "carrier.eml": [["Power", "350", "W"]]}
    return {name: {"headings": [], "rows": rows.get(name, []), "facts": head + found} for name, found in facts.items()}


def _make_notebook(folder: Path) -> dict[str, dict[str, Any]]:
    table = _to_html([SHEETS["stock"]])
    image = base64.b64encode(bytes(range(256)) * 20).decode()
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Quarterly report\n", "\n", "Revenue grew."]},
        {
            "cell_type": "code",
            "metadata": {},
            "execution_count": 1,
            "source": ["stock = load()\n", "stock"],
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["loaded 2 rows\n"]},
                {"output_type": "execute_result", "metadata": {}, "execution_count": 1, "data": {"text/html": [table]}},
                {"output_type": "display_data", "metadata": {}, "data": {"image/png": image}},
            ],
        },
    ]
    notebook = {"cells": cells, "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "report.ipynb").write_text(json.dumps(notebook))
    facts = ["Revenue grew.", "stock = load()", "loaded 2 rows"]
    return {"report.ipynb": {"headings": ["Quarterly report"], "rows": SHEETS["stock"], "facts": facts}}


def _convert(path: Path, folder: Path, suffix: str, *options: str) -> None:
    profile = f"-env:UserInstallation=file://{path.parent.parent}/profile"
    command = ["soffice", "--headless", profile, *options, "--convert-to", suffix, "--outdir", str(folder), str(path)]
    subprocess.run(command, capture_output=True, check=True)
    if not (folder / f"{path.stem}.{suffix}").exists():
        raise SystemExit(f"LibreOffice did not convert {path.name} to {suffix}. Install writer, impress and calc.")


def fetch_files(folder: Path, place: Path) -> dict[str, dict[str, Any]]:
    """Files of Debian packages, and what is expected in each."""
    from bench.debian_docs import unpack

    place.chmod(0o755)  # apt-get gives up its privileges before it downloads
    expected: dict[str, dict[str, Any]] = {}
    for package, files in json.loads(CASES.read_text("utf-8")).items():
        tree = unpack(package, str(place))
        for path, wanted in files.items():
            data = (tree / path).read_bytes()
            name = wanted.get("name", Path(path).name.removesuffix(".gz"))
            (folder / name).write_bytes(gzip.decompress(data) if path.endswith(".gz") else data)
            expected[name] = wanted
    return expected


# Readers


def measure(name: str, python: str, folder: Path, place: Path, expected: dict[str, Any]) -> dict[str, Any]:
    out = place / f"{name}.json"
    subprocess.run([python, "-P", str(Path(__file__).resolve()), name, str(folder), str(out)], check=True)
    found = json.loads(out.read_text("utf-8"))
    figures: dict[str, Any] = found.pop("cost")
    missing: dict[str, list[str]] = {}
    totals: dict[str, list[bool]] = {}
    for file, wanted in expected.items():
        for kind in ("headings", "rows", "lines", "facts"):
            for one in wanted.get(kind, []):
                is_found = has(found.get(file, ""), kind, one)
                totals.setdefault(kind, []).append(is_found)
                totals.setdefault(f"{Path(file).suffix[1:]}", []).append(is_found)
                if not is_found:
                    missing.setdefault(file, []).append(f"{kind}: {one}")
    figures["found"] = {key: f"{sum(hits)} of {len(hits)}" for key, hits in sorted(totals.items())}
    figures["missing"] = missing
    return figures


def has(text: str, kind: str, wanted: str | list[str]) -> bool:
    """Whether a text has what is expected."""
    plain = re.sub(r"\\([|_*\[\]().#+-])|\*\*|<br ?/?>", r"\1", text)
    if kind == "facts":
        return " ".join(str(wanted).split()) in " ".join(plain.split())
    if kind == "headings":
        return bool(re.search(rf"^#+ +{re.escape(str(wanted))}[ #]*$", plain, re.MULTILINE))
    if kind == "lines":
        return bool(re.search(".*".join(map(re.escape, wanted)), plain))
    cells = r"\s*\|\s*".join(map(re.escape, wanted))
    row = re.compile(rf"\|\s*{cells}\s*\|")
    for block in re.split(r"\n\s*\n", plain):
        lines = block.splitlines()
        rules = [at for at, line in enumerate(lines) if re.fullmatch(r"[|\s:-]*-[|\s:-]*\|[|\s:-]*", line)]
        if any(row.search(line) for at, line in enumerate(lines) if rules and rules[0] <= at + 1):
            return True
    return False


def read(name: str, folder: Path, out: Path) -> None:
    """Read all files with one reader; runs with the interpreter that has it."""
    texts: dict[str, Any] = {}
    for path in sorted(folder.iterdir()):
        try:
            texts[path.name] = READERS[name](path)
        except Exception as error:
            texts[path.name] = f"{type(error).__name__}: {error}"
    if name == "shortlist":  # which reads in a process of its own; what that took is known when it has ended
        from shortlist.sources.parser_process import close_idle

        close_idle()
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cost = {
        "CPU s": round(sum(one.ru_utime + one.ru_stime for one in usage), 2),
        "MB of memory": max(one.ru_maxrss for one in usage) >> 10,
        **measure_installed(),
    }
    out.write_text(json.dumps({**texts, "cost": cost}), "utf-8")


def measure_installed() -> dict[str, Any]:
    """The packages of this environment, their size, and their licenses other than MIT, BSD and Apache."""
    packages = [one for one in metadata.distributions() if one.name.lower() not in ("pip", "setuptools", "wheel", "uv")]
    files = {
        path for one in packages for file in one.files or () if (path := Path(str(one.locate_file(file)))).is_file()
    }
    licenses = {one.name: _describe_license(one) for one in packages}
    return {
        "packages": len(packages),
        "MB installed": sum(path.stat().st_size for path in files) >> 20,
        "licenses": {name: text for name, text in licenses.items() if not re.search(r"MIT|BSD|Apache", text)},
    }


def _describe_license(package: metadata.Distribution) -> str:
    about = package.metadata
    marks = [mark.rpartition(" :: ")[2] for mark in about.get_all("Classifier", []) if mark.startswith("License :: ")]
    stated = [*about.get_all("License-Expression", []), ", ".join(marks), *about.get_all("License", []), "unknown"]
    text = next(filter(None, stated))
    return str(text).partition("\n")[0][:80]


def _read_with_shortlist(path: Path) -> str:
    from shortlist import CorpusSource, Document

    items = CorpusSource.from_files(path)
    return "\n\n".join(item.content if isinstance(item, Document) else item.reason for item in items)


def _read_with_kreuzberg(path: Path) -> str:
    from kreuzberg import ExtractionConfig, extract_file_sync  # type: ignore[import-not-found,unused-ignore]

    return str(
        extract_file_sync(
            str(path), config=ExtractionConfig(output_format="markdown", disable_ocr=True, use_cache=False)
        ).content
    )


def _read_with_markitdown(path: Path) -> str:
    from markitdown import MarkItDown  # type: ignore[import-not-found,unused-ignore]

    return str(_converter(MarkItDown).convert(str(path)).text_content)


@functools.cache
def _converter(make: Callable[[], Any]) -> Any:
    """One for all files: it loads a model that detects formats."""
    return make()


READERS = {
    "shortlist": _read_with_shortlist,
    "kreuzberg": _read_with_kreuzberg,
    "markitdown": _read_with_markitdown,
}

if __name__ == "__main__":
    read(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
