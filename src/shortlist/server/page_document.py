"""The web page as one document: its modules and styles are inlined, so a slow connection needs one round trip."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import posixpath
import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "web"
MAIN = "main.js"

# The modules are formatted by biome, so each import and export starts a line.
_IMPORT = re.compile(r'^import (.+?) from "(\..+?)";$', re.MULTILINE | re.DOTALL)
_PASSED_ON = re.compile(r'^export \{ (.+?) \} from "(\..+?)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|class|function) (\w+))", re.MULTILINE)
_DYNAMIC_IMPORT = re.compile(r'(?<![\w.])import\("(\..+?)"\)(?!\.)')
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*?(?:(?!\*/).)*\*/|//[^\n]*)[ \t]*\n", re.MULTILINE | re.DOTALL)

_START = """const loaded = {};
const load = (name) => {
  if (!loaded[name]) modules[name]((loaded[name] = {}));
  return loaded[name];
};
load("main.js");
"""

# No content from elsewhere. Scripts and styles are those of the page, by hash, and no text that the browser could take
# for HTML.
_POLICY = (
    "default-src 'none'; script-src 'self' {scripts}; style-src 'self' {styles}; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)


class PageDocument(NamedTuple):
    """The document, also compressed, its entity tag, and its content security policy."""

    html: bytes
    compressed: bytes
    tag: str
    policy: str


def read_page() -> PageDocument:
    """The document, made again if one of the files has changed."""
    return _make_page(tuple(sorted((str(path), path.stat().st_mtime_ns) for path in FOLDER.rglob("*.*"))))


@functools.lru_cache(maxsize=1)
def _make_page(files: tuple[tuple[str, int], ...]) -> PageDocument:
    html = _read("index.html")
    hashes: dict[str, list[str]] = {"script": [], "style": []}

    def inline(line: str, tag: str, kind: str, text: str) -> None:
        nonlocal html
        if html.count(line) != 1 or f"</{tag}" in text:
            raise RuntimeError(f"{line} of the page cannot be inlined.")
        hashes[tag].append(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'")
        html = html.replace(line, f"<{tag}{kind}>{text}</{tag}>")

    inline('<link rel="stylesheet" href="/page/page.css">', "style", "", _shorten(_read("page.css")))
    inline('<script src="/page/core/theme.js"></script>', "script", "", _shorten(_read("core/theme.js")))
    inline('<script type="module" src="/page/main.js"></script>', "script", ' type="module"', bundle(MAIN))
    data = html.encode()
    policy = _POLICY.format(scripts=" ".join(hashes["script"]), styles=" ".join(hashes["style"]))
    return PageDocument(data, gzip.compress(data, 9, mtime=0), f'"{hashlib.sha256(data).hexdigest()[:32]}"', policy)


def bundle(main: str) -> str:
    """One module that contains a module and all that it imports; each is run when it is first imported."""
    modules: dict[str, str] = {}
    waiting = [main]
    while waiting:
        name = waiting.pop()
        if name not in modules:
            modules[name], imported = _wrap(name)
            waiting += imported
    parts = [f'"{name}": (exports) => {{\n{modules[name]}}},\n' for name in sorted(modules)]
    return f"const modules = {{\n{''.join(parts)}}};\n{_START}"


def _wrap(name: str) -> tuple[str, list[str]]:
    """The body of a module as a function that fills `exports`, and the names of the modules that it imports."""
    text = _shorten(_read(name))
    folder, imported = posixpath.dirname(name), []

    def find(target: str) -> str:
        imported.append(posixpath.normpath(posixpath.join(folder, target)))
        return f'load("{imported[-1]}")'

    def replace_import(match: re.Match[str]) -> str:
        names, target = match.groups()
        bound = names.removeprefix("* as ") if names.startswith("* as ") else names.replace(" as ", ": ")
        return f"const {bound} = {find(target)};"

    def pass_on(match: re.Match[str]) -> str:
        names, target = match.groups()
        return f"{{ const {{ {names} }} = {find(target)}; Object.assign(exports, {{ {names} }}); }}"

    exported = _EXPORT.findall(text)
    text = _EXPORT.sub("", _PASSED_ON.sub(pass_on, _IMPORT.sub(replace_import, text)))
    text = _DYNAMIC_IMPORT.sub(lambda match: f"Promise.resolve().then(() => {find(match[1])})", text)
    return f"{text}Object.assign(exports, {{ {', '.join(exported)} }});\n", imported


def _shorten(text: str) -> str:
    """A text of JavaScript or CSS without indentation, and without comments that have lines of their own."""
    return re.sub(r"^[ \t]+", "", _COMMENT.sub("", text), flags=re.MULTILINE)


def _read(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")
