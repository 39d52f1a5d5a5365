"""Questions made from the structure of manual pages: options, defaults, exit codes, files and variables.

`fetch` downloads documentation of Debian packages that no evaluation uses. It is read at training time and never
stored. The model reads MORE_PACKAGES; PACKAGES are left out of its training, and the reader is fitted to them. Each
question comes with a text that the unit that answers contains; a fifth of the words of a description that a question
repeats are left out, as people do not know them all.
"""

from __future__ import annotations

import random
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from bench import debian_docs

PACKAGES = """
coreutils grep sed gawk less procps iproute2 nftables util-linux e2fsprogs wget xz-utils dpkg apt nano rsyslog chrony
postfix bind9-utils python-flask-doc python-jinja2-doc sphinx-doc nodejs-doc tcl8.6-doc openssl bash parted strace ufw
python-sqlalchemy-doc cryptsetup-bin smartmontools supervisor fail2ban bzip2 gzip patch diffutils
"""
MORE_PACKAGES = """
acl alsa-utils ansible-core apache2-doc apparmor aptitude-doc-en autoconf autofs automake btrfs-progs cifs-utils
cloud-init cmake-doc collectd-core coturn dnsmasq-base dovecot-core duplicity erlang-manpages ethtool exim4-base
expect fetchmail ffmpeg-doc fio firejail fish flex freeradius gdb gettext ghostscript gnutls-doc graphviz groff-base
haproxy hostapd imagemagick-6-common iperf3 ipmitool ipset iptables isc-dhcp-client isc-dhcp-server keepalived
knot-doc ldap-utils lftp libarchive-tools libglib2.0-doc libxml2-doc libxml2-utils lsof ltrace lvm2 m4 man-db manpages
manpages-dev mariadb-client mercurial meson monit mpv nasm neomutt net-tools network-manager nfs-common
nfs-kernel-server nginx-doc nmap ntpsec-doc parallel perl-doc ppp privoxy python-aiohttp-doc python-celery-doc
python-django-doc python-lxml-doc python-openstackclient-doc python-oslo.config-doc python-pil-doc python-psutil-doc
python-pytest-doc python-requests-doc python-scrapy-doc python-tornado-doc qemu-system-common qemu-utils redis-server
rrdtool rsnapshot sane-utils slapd smbclient socat sox spamassassin squid sshfs stunnel4 subversion sysstat tcpdump
tmux tor tshark unbound unzip varnish-doc vim-common wireguard-tools wpasupplicant xfsprogs xmlstarlet xterm zip
zsh-doc zstd
"""
FILES, SMALLEST, LARGEST = 40, 800, 250_000  # of a package; bytes of a file
WORKERS = 2  # packages at a time
PAGES = ("usr/share/man/man[1-8]/*.gz", "usr/share/doc/**/*.html")
MORE_PAGES = (
    *PAGES,
    "usr/share/doc/**/*.html.en",
    "usr/share/doc/**/*.rst*",
    "usr/share/doc/**/*.md*",
    "usr/share/doc/**/*.adoc*",
    "usr/share/doc/**/README*",
    "usr/share/doc/*/NEWS*",
    "usr/share/doc/*/changelog.gz",
)

_OPTION = re.compile(r"^ {2,10}(--?[A-Za-z][\w-]*(?:[ =,\[<].{0,50})?)$\n((?:^ {11,}\S.*\n)+)", re.MULTILINE)
_ON_ONE_LINE = re.compile(
    r"^ {2,10}(--?[A-Za-z][\w-]*(?:, --?[\w-]+)?(?:[= ][A-Z<]\S*)?) {2,}(\S.{20,})$", re.MULTILINE
)
_STATUS = re.compile(r"^ {3,12}(\d{1,3})\s{2,}(\S.{12,})$", re.MULTILINE)
_PATH = re.compile(r"^ {3,12}([~$/][\w./$~{}-]{4,})\s*\n((?:^ {10,}\S.*\n)+)", re.MULTILINE)
_VARIABLE = re.compile(r"^ {3,12}([A-Z][A-Z_]{3,})\s*\n((?:^ {10,}\S.*\n)+)", re.MULTILINE)
_NAME = re.compile(r"--[A-Za-z][\w-]+|(?<![\w-])-[A-Za-z]\b")
_SENTENCE = re.compile(r"(.{20,170}?[.;])(?:\s|$)")
_DEFAULT = re.compile(r"[^.;]*\b(?:default(?:s)? (?:is|to|value is)|by default)[^.;]*(?:\.\d[^.;]*)*", re.IGNORECASE)
_NO_DEED = re.compile(
    r"(?:the|this|if|an?|when|for|with|same|like|as|in|by|on|equivalent|shows? (?:help|version))\b|\W", re.IGNORECASE
)
_NUMBER = re.compile(r"\d")

DOES = (
    "What does the {option} option of {command} do?",
    "What is {option} for in {command}?",
    "what does {command} {option} do",
)
WHICH = ("Which option makes {command} {deed}?", "How do I make {command} {deed}?", "How can I {deed} with {command}?",
         "{command}: how to {deed}?")  # fmt: skip
DEFAULTS = ("What is the default of {option} in {command}?", "What does {command} use if {option} is not given?",
            "{command} {option} default value")  # fmt: skip
STATUSES = ("What does exit status {status} of {command} mean?", "Why does {command} exit with {status}?")
REASONS = ("What does {command} return when {deed}?", "Which exit code does {command} give if {deed}?")
PATHS = ("What is {path} for?", "What does {command} keep in {path}?")
VARIABLES = ("What does the environment variable {path} do?", "What is {path} in {command}?")
KEPT = 0.8  # of the words of a description


class Made(NamedTuple):
    """A question and a part of the text that answers it."""

    text: str
    answer: str


def fetch(folder: Path, packages: str = PACKAGES, patterns: Sequence[str] = PAGES) -> None:
    """Download packages, and write some pages of each to a folder of its own."""
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(WORKERS) as pool:
        Path(place).chmod(0o755)  # apt-get gives up its privileges before it downloads
        debian_docs.download(packages.split(), place)
        list(pool.map(lambda package: _write_pages(package, place, folder / package, patterns), packages.split()))


def _write_pages(package: str, place: str, target: Path, patterns: Sequence[str]) -> None:
    tree = debian_docs.unpack(package, place)
    paths = [path for pattern in patterns for path in sorted(tree.glob(pattern)) if "_modules" not in path.parts]
    random.Random(package).shuffle(paths)
    target.mkdir(parents=True, exist_ok=True)
    for path in paths[:FILES]:
        if not path.is_symlink() and SMALLEST <= path.stat().st_size <= LARGEST:
            debian_docs.write_document(path, target)
    shutil.rmtree(tree)


def ask_structure(command: str, page: str, rng: random.Random) -> Iterator[Made]:
    """Questions about a manual page as a terminal shows it."""

    def fill(forms: tuple[str, ...], **parts: str) -> str:
        return rng.choice(forms).format(command=command, **parts)

    for pattern in (_OPTION, _ON_ONE_LINE):
        for match in pattern.finditer(page):
            names, text = _NAME.findall(match[1]), " ".join(match[2].split())
            first = _SENTENCE.match(f"{text}.")
            if not names or not first:
                continue
            option, says = rng.choice(names), first[1].rstrip(".;")
            if option in ("-h", "-V", "--help", "--version"):
                continue
            yield Made(fill(DOES, option=option), says[:60])
            if not _NO_DEED.match(says):
                yield Made(fill(WHICH, deed=_blur(says[0].lower() + says[1:], rng)), says[:60])
            if (default := _DEFAULT.search(text)) and _NUMBER.search(default[0]):
                yield Made(fill(DEFAULTS, option=option), default[0].strip()[-40:])
    section = page.partition("\nEXIT ")[2][:3_000]
    for match in _STATUS.finditer(section):
        says = match[2].strip().rstrip(".")
        yield Made(fill(STATUSES, status=match[1]), says[:60])
        yield Made(fill(REASONS, deed=_blur(says[0].lower() + says[1:], rng)), says[:60])
    for pattern, forms in ((_PATH, PATHS), (_VARIABLE, VARIABLES)):
        for match in pattern.finditer(page):
            if first := _SENTENCE.match(f"{' '.join(match[2].split())}."):
                yield Made(fill(forms, path=match[1]), first[1].rstrip(".;")[:60])


def _blur(text: str, rng: random.Random) -> str:
    return " ".join(word for word in text.split()[:16] if rng.random() < KEPT)
