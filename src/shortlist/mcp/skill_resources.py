"""Skills as resources `skill://NAME/PATH`, and the MCP extension for skills (SEP-2640): their entries, with digests."""

from __future__ import annotations

import asyncio
import base64
import json
import mimetypes
import os
import re
from collections.abc import Callable, Iterable
from hashlib import blake2b, sha256
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server

from shortlist._text import did_you_mean
from shortlist.documents import Document
from shortlist.errors import InputError
from shortlist.mcp.collection import SKILLS, SKILLS_MAX_AGE_SECONDS, Collection
from shortlist.retrieval.learning.usage_session import UsageSession
from shortlist.safety.principals import sees_all, show_source
from shortlist.sources.front_matter import split_front_matter
from shortlist.sources.skills import IGNORED_FOLDERS, SKILL_FILE, describe_origin, explain_pending, is_of_inner_skill

EXTENSION = "io.modelcontextprotocol/skills"
SCHEME = "skill://"
ORIGIN = "shortlist/origin"  # in `_meta` of a file of a project that is not approved
PAGE = 50  # skills in a list

# The limits of the extension: every host accepts a skill within them.
MOST_FILES = 512
MOST_BYTES = 16 << 20

# The rules for front matter of https://agentskills.io/specification; texts with their greatest length.
NAME = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(-[a-z0-9]+)*")
TEXTS = {"description": 1024, "compatibility": 500, "license": None, "allowed-tools": None}

# Types that Python does not know, or takes for something else.
MIME_TYPES = {".md": "text/markdown", ".toml": "application/toml", ".ts": "text/typescript"}
MIME_TYPES |= dict.fromkeys((".yaml", ".yml"), "application/yaml")

_known_types = mimetypes.MimeTypes()  # the same on every system


class SkillEntry(NamedTuple):
    """A skill by its path in our namespace, such as "deploy"."""

    path: str
    document: Document

    @property
    def folder(self) -> Path:
        return Path(self.document.source).parent

    def uri(self, file: str = SKILL_FILE) -> str:
        return f"{SCHEME}{quote(str(PurePosixPath(self.path, file)))}"


class SkillContents(NamedTuple):
    """The files that are served of a skill by their relative paths, and its folders, "." first."""

    files: dict[str, Path]
    folders: set[str]


class SkillResources:
    """The skills of a collection. Methods read files, so they may be slow."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    @property
    def are_served(self) -> bool:
        return SKILLS in self._collection.names()

    def browse(self, start: int) -> tuple[list[Document], int]:
        """A page of the skills, and the number of all."""
        return self._collection.skills().browse("", start, PAGE)

    def find_all(self) -> dict[str, SkillEntry]:
        """The skills whose names can be part of a URI, by path."""
        documents = self._collection.skills().browse()[0] if self.are_served else []
        return {entry.path: entry for entry in _name_all(documents)}

    def uris(self) -> dict[str, str]:
        """Their URIs, by id in the index."""
        return {one.document.id: one.uri() for one in self.find_all().values()}

    def find(self, uri: str) -> tuple[SkillEntry, str]:
        """The innermost skill that a URI is in, and the relative path of the file or folder."""
        entries, path = self.find_all(), PurePosixPath(unquote(uri.removeprefix(SCHEME)))
        if uri.startswith(SCHEME):
            for place in (path, *path.parents):
                if entry := entries.get(str(place)):
                    return entry, str(path.relative_to(place))
        near = did_you_mean(uri, [one.uri() for one in entries.values()])
        raise InputError(f"No skill is served at {uri[:200]}.{near}")

    def read(
        self, uri: str, usage: UsageSession | None = None
    ) -> types.TextResourceContents | types.BlobResourceContents:
        """A file of a skill, as it is now. Its SKILL.md counts as use of the skill."""
        entry, name = self.find(uri)
        files = self._list_contents(entry).files
        if name not in files:
            raise InputError(f"{uri[:200]} is not a file of the skill {entry.path}.{did_you_mean(name, files)}")
        data, kind = files[name].read_bytes(), guess_type(name)
        if usage is not None and name == SKILL_FILE:
            usage.used(SKILLS, entry.document.id, "read")
        try:
            text = data.decode()
        except ValueError:
            blob = base64.b64encode(data).decode()
            return types.BlobResourceContents(uri=uri, mime_type=kind or "application/octet-stream", blob=blob)
        origin = _check(entry, text)
        meta = {ORIGIN: origin} if origin else None
        return types.TextResourceContents(uri=uri, mime_type=kind or "text/plain", text=text, _meta=meta)

    def get(self, uri: str) -> dict[str, Any]:
        """The entry of the extension for the skill with this URI."""
        entry, name = self.find(uri)
        if name != SKILL_FILE:
            raise InputError(f"{uri[:200]} is not the {SKILL_FILE} of a skill. Use {entry.uri()}.")
        return _describe(entry, self._list_contents(entry))

    def page(self, start: int) -> tuple[list[dict[str, Any]], int | None]:
        """The entries of a page of the skills, without those that break a rule, and where the next page starts."""
        entries = list(self.find_all().values())
        described = []
        for entry in entries[start : start + PAGE]:
            try:
                described.append(_describe(entry, self._list_contents(entry)))
            except (InputError, OSError):  # `get` has the reason
                continue
        return described, start + PAGE if start + PAGE < len(entries) else None

    def read_folder(self, uri: str) -> list[types.Resource]:
        """The files and folders that are directly in a folder of a skill."""
        entry, name = self.find(uri)
        found = self._list_contents(entry)
        if name not in found.folders:
            raise InputError(f"{uri[:200]} is not a folder of the skill {entry.path}.")
        files = [
            types.Resource(
                uri=entry.uri(file), name=PurePosixPath(file).name, mime_type=guess_type(file), size=path.stat().st_size
            )
            for file, path in found.files.items()
            if str(PurePosixPath(file).parent) == name
        ]
        folders = [
            types.Resource(uri=entry.uri(one), name=PurePosixPath(one).name, mime_type="inode/directory")
            for one in sorted(found.folders - {"."})
            if str(PurePosixPath(one).parent) == name
        ]
        return files + folders

    def _list_contents(self, entry: SkillEntry) -> SkillContents:
        """What is served of a skill to the current caller."""
        if sees_all(SKILLS):
            return _list_contents(entry.folder)
        seen = {Path(document.source).parent for document in self._collection.skills().browse()[0]}
        return _list_contents(entry.folder, lambda path: is_of_inner_skill(path, entry.folder, seen))

    def add_to(self, server: Server[Any]) -> None:
        """Declare the extension, and answer its methods."""
        if not self.are_served:
            return
        fresh = {"ttlMs": int(1000 * SKILLS_MAX_AGE_SECONDS), "cacheScope": "private"}

        async def list_skills(_: Any, params: types.PaginatedRequestParams) -> dict[str, Any]:
            listed, following = await _run(self.page, parse_cursor(params.cursor))
            return {"skills": listed, **fresh} | ({} if following is None else {"nextCursor": str(following)})

        async def get_skill(_: Any, params: types.ReadResourceRequestParams) -> dict[str, Any]:
            return {"skill": await _run(self.get, params.uri), **fresh}

        async def read_folder(_: Any, params: types.ReadResourceRequestParams) -> types.ListResourcesResult:
            return types.ListResourcesResult(resources=await _run(self.read_folder, params.uri))

        server.extensions[EXTENSION] = {"directoryRead": True}
        server.add_request_handler("skills/list", types.PaginatedRequestParams, list_skills)
        server.add_request_handler("skills/get", types.ReadResourceRequestParams, get_skill)
        server.add_request_handler("resources/directory/read", types.ReadResourceRequestParams, read_folder)


async def _run(work: Any, *arguments: Any) -> Any:
    try:
        return await asyncio.to_thread(work, *arguments)
    except (InputError, OSError) as error:
        raise MCPError(code=types.INVALID_PARAMS, message=str(error)) from None


def parse_cursor(cursor: str | None) -> int:
    """Where a page starts."""
    if not (cursor or "0").isdecimal():
        raise MCPError(code=types.INVALID_PARAMS, message=f"There is no cursor {str(cursor)[:80]!r}.")
    return int(cursor or 0)


def guess_type(name: str) -> str | None:
    """The MIME type of a file by its name."""
    return MIME_TYPES.get(PurePosixPath(name).suffix.lower()) or _known_types.guess_type(name)[0]


def _name_all(documents: Iterable[Document]) -> Iterable[SkillEntry]:
    """The paths of skills: the name or, for a skill in the folder of another, the path below that one.

    Of several skills with one name, the nearest has it; the paths of the others start with a hash of their folder.
    """
    paths: dict[Path, str] = {}
    for document in sorted(documents, key=lambda one: len(Path(one.source).parts)):
        folder, name = Path(document.source).parent, document.title
        if not NAME.fullmatch(name) or Path(document.source).name != SKILL_FILE:
            continue
        outer = next((one for one in folder.parents if one in paths), None)
        if outer is not None and folder.name == name:
            path = f"{paths[outer]}/{folder.relative_to(outer).as_posix()}"
        elif document.id == name:
            path = name
        else:
            path = f"{blake2b(os.fsencode(folder), digest_size=4).hexdigest()}/{name}"
        paths[folder] = path
        yield SkillEntry(path, document)


def _list_contents(folder: Path, is_hidden: Callable[[Path], bool] = lambda _: False) -> SkillContents:
    """What is served of a skill: no hidden files, which often contain secrets, and no links that leave the folder."""
    found, size = SkillContents({}, {"."}), 0
    limits = f"{MOST_FILES} files, {MOST_BYTES >> 20} MiB"
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in IGNORED_FOLDERS)
        folders[:] = [name for name in folders if not is_hidden(Path(place, name))]
        inside = PurePosixPath(Path(place).relative_to(folder).as_posix())
        found.folders.update(str(inside / name) for name in folders if not Path(place, name).is_symlink())
        for name in sorted(names):
            file = Path(os.path.realpath(Path(place, name)))
            if not file.is_relative_to(folder) or not file.is_file() or is_hidden(file):
                continue
            if any(part.startswith(".") for part in (name, *file.relative_to(folder).parts)):
                continue
            found.files[str(inside / name)] = file
            size += file.stat().st_size
            if len(found.files) > MOST_FILES or size > MOST_BYTES:
                raise InputError(f"The folder of the skill {folder.name} is larger than can be served ({limits}).")
    return found


def _describe(entry: SkillEntry, contents: SkillContents) -> dict[str, Any]:
    """The entry of a skill, from its files as they are now."""
    files = {name: path.read_bytes() for name, path in contents.files.items()}
    if SKILL_FILE not in files:
        raise InputError(f"{entry.uri()} is not served as a skill: its {SKILL_FILE} is gone or outside of its folder.")
    _check(entry, files[SKILL_FILE].decode(errors="replace"))
    try:
        header, _ = split_front_matter(files[SKILL_FILE].decode("utf-8-sig").replace("\r\n", "\n"))
        header = json.loads(json.dumps(header, default=str, allow_nan=False))  # dates as they are written
        fault = _find_fault(header, PurePosixPath(entry.path).name)
    except ValueError as error:
        fault = str(error)
    if fault:
        raise InputError(f"{entry.uri()} is not served as a skill: {fault}. Fix its front matter.")
    resources = [
        {"uri": entry.uri(name), "digest": f"sha256:{sha256(data).hexdigest()}", "size": len(data)}
        for name, data in files.items()
    ]
    return {"uri": entry.uri(), "frontmatter": header, "resources": resources}


def _check(entry: SkillEntry, text: str) -> str:
    """The origin of a skill that is not approved, else an empty string. An InputError if this text is not served."""
    document = entry.document
    origin, warning = describe_origin(document.metadata, text)
    if warning:
        raise InputError(explain_pending(document.name, show_source(document.source), warning))
    return origin


def _find_fault(header: dict[str, Any], name: str) -> str:
    """Which rule of the Agent Skills specification a front matter breaks, if any."""
    if header.get("name") != name:
        return f"'name' must be {name!r}, not {header.get('name')!r}"
    if not str(header.get("description") or "").strip():
        return "'description' is missing"
    for field, most in TEXTS.items():
        value = header.get(field, " ")
        if not isinstance(value, str) or not value:
            return f"{field!r} must be a string that is not empty"
        if most is not None and len(value) > most:
            return f"{field!r} has {len(value):,} characters; the limit is {most:,}"
    metadata = header.get("metadata", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        return "'metadata' must map strings to strings"
    return ""
