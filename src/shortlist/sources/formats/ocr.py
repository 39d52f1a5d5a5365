"""Text in pictures, read by Tesseract if it is installed."""

from __future__ import annotations

import contextlib
import subprocess

from shortlist.errors import SourceError
from shortlist.safety import processes

SECONDS = 60  # for a picture
DPI = 300  # of a page; below 200, Tesseract misses small print
MEMORY = 4 << 30  # bytes for a picture
FORMATS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"P5 ")  # PNG, JPEG, TIFF and PNM
HOW = "Read the file with ocr=True (option --ocr) if Tesseract is installed, or run OCR on it first."


def recognize(image: bytes) -> str:
    """The text in a picture: PNG, JPEG, TIFF or PNM."""
    if not image.startswith(FORMATS):  # Tesseract takes other input for a list of files, and opens them
        raise SourceError("It is damaged or not a picture: it is not PNG, JPEG or TIFF.")
    try:
        process = subprocess.Popen(
            [processes.find_on_path("tesseract"), "stdin", "stdout"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**processes.make_environment(), "OMP_THREAD_LIMIT": "1"},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except FileNotFoundError:
        raise SourceError("OCR needs Tesseract. Install it (Debian: apt-get install tesseract-ocr).") from None
    except OSError as error:
        raise SourceError(f"Tesseract cannot be started: {error.strerror}.") from None
    with process:
        try:
            _limit(process.pid)
            text, messages = process.communicate(image, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise SourceError(f"Tesseract took more than {SECONDS} seconds.") from None
        finally:
            process.kill()  # without effect if it has ended
    if process.returncode:
        lines = messages.decode(errors="replace").strip().splitlines() or [f"status {process.returncode}"]
        raise SourceError(f"Tesseract cannot read it: {lines[-1].rstrip('.')}.")
    return text.decode(errors="replace").replace("\f", "\n").strip()


def _limit(process: int) -> None:
    """Limit memory and time of a process, also for the case that this one is ended before it; on Linux only."""
    with contextlib.suppress(ImportError, AttributeError, ProcessLookupError):
        import resource  # noqa: PLC0415  # not on Windows

        resource.prlimit(process, resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.prlimit(process, resource.RLIMIT_AS, (MEMORY, MEMORY))
