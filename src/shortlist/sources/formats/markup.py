"""Markdown tables, and XML files inside of office files."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterable, Sequence
from typing import NoReturn
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from shortlist.errors import SourceError


def render_table(rows: Iterable[Sequence[str]]) -> str:
    """Rows as a Markdown table whose header is the first row; a table of one row or column is plain text."""
    lines = [[" ".join(cell.split()) for cell in row] for row in rows]
    lines = [line for line in lines if any(line)]
    width = max(map(len, lines), default=0)
    used = [at for at in range(width) if any(line[at : at + 1] not in ([], [""]) for line in lines)]
    if len(lines) < 2 or len(used) < 2:
        return "\n\n".join(" ".join(filter(None, line)) for line in lines)
    cells = [[line[at].replace("|", "\\|") if at < len(line) else "" for at in used] for line in lines]
    shown = [f"| {' | '.join(line)} |" for line in cells]
    return "\n".join([shown[0], "|" + "---|" * len(used), *shown[1:]])


DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"


class _Builder(ET.TreeBuilder):
    def doctype(self, *_: object) -> NoReturn:
        raise SourceError("Its XML declares a DOCTYPE, which office files do not need and which may be an attack.")


def parse_xml(archive: zipfile.ZipFile, name: str) -> ET.Element:
    """The root of an XML file in an archive. Entities and other files are never loaded."""
    try:
        with archive.open(name) as member:
            return ET.parse(member, ET.XMLParser(target=_Builder())).getroot()
    except KeyError:
        raise SourceError(f"It is damaged: {name} is missing in it.") from None
    except (ET.ParseError, zipfile.BadZipFile, EOFError) as error:
        raise SourceError(f"It is damaged: {name}: {error}.") from None
    except (RuntimeError, NotImplementedError) as error:  # encrypted, or compressed in a way of its own
        raise SourceError(f"It cannot be unpacked: {error}.") from None


def resolve_link(base: str, link: str) -> str:
    """The name in an archive of what a file in it links to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(link.partition("#")[0]))).lstrip("/")


def read_relations(archive: zipfile.ZipFile, part: str = "") -> dict[str, tuple[str, str]]:
    """The last part of the type, and the target, of each relation of a part of an Office Open XML file, by id."""
    folder, name = posixpath.split(part)
    place = posixpath.join(folder, "_rels", f"{name}.rels")
    if place not in archive.namelist():
        return {}
    return {
        relation.get("Id", ""): (
            relation.get("Type", "").rpartition("/")[2],
            resolve_link(part, relation.get("Target", "")),
        )
        for relation in parse_xml(archive, place)
        if relation.get("TargetMode") != "External"
    }


def find_related(archive: zipfile.ZipFile, kind: str, part: str = "") -> str | None:
    """The first part with a relation of this kind to a part, or to the file."""
    return next((target for found, target in read_relations(archive, part).values() if found == kind), None)


def read_title(archive: zipfile.ZipFile, name: str | None) -> str:
    """The title in the properties of an office file."""
    if name is None or name not in archive.namelist():
        return ""
    return next((text.strip() for node in parse_xml(archive, name).iter(DC_TITLE) if (text := node.text or "")), "")
