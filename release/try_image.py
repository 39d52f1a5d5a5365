"""Runs the steps of the Dockerfile without a builder, and then the service as the image would.

`python -m release.try_image [PYTHON]` copies what the Dockerfile copies to a new folder, where its paths begin. Each
stage runs in a clean environment with that Python, and the service as another user, if this one is root; then that user
must be able to run that Python.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PATHS = re.compile(r"(?<![\w./-])/(?=(?:src|wheels|opt|data)(?:[/\s:]|$))")  # of the image; others are the system's
NEEDS_ROOT = "useradd"
PORT = "9200"


class Image:
    """A Dockerfile of which every instruction that we use is known."""

    def __init__(self, folder: Path, python: Path) -> None:
        self.folder = folder
        self._python = python
        self.environment: dict[str, str] = {}
        self.commands: dict[str, Any] = {}
        self._work = folder

    def run_steps(self) -> None:
        text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
        for line in filter(None, text.replace("\\\n", " ").splitlines()):
            instruction, _, rest = line.partition(" ")
            print(line, flush=True)
            getattr(self, f"_do_{instruction.lower()}")(rest)

    def _do_from(self, _: str) -> None:
        (self.folder / "home").mkdir(exist_ok=True)
        self.environment = {"PATH": f"{self._python.parent}:/usr/bin:/bin", "HOME": str(self.folder / "home")}
        self.environment |= {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_", "LD_"))}

    def _do_workdir(self, path: str) -> None:
        self._work = Path(self.move(path))
        self._work.mkdir(parents=True, exist_ok=True)

    def _do_copy(self, rest: str) -> None:
        if rest.startswith("--from"):  # one folder is all stages
            return
        kept = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
        for name in kept:
            if (ROOT / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "compiled")
                shutil.copytree(ROOT / name, self._work / name, ignore=ignored)
            else:
                shutil.copy(ROOT / name, self._work)

    def _do_run(self, command: str) -> None:
        if command.startswith(NEEDS_ROOT):
            (self.folder / "data").mkdir(mode=0o700)
            if not os.getuid():
                os.chown(self.folder / "data", 10001, 10001)
            return
        script = PATHS.sub(f"{self.folder}/", command)
        subprocess.run(["sh", "-ec", script], cwd=self._work, env=self.environment, check=True)

    def _do_env(self, rest: str) -> None:
        for pair in rest.split():
            name, _, value = pair.partition("=")
            self.environment[name] = self.move(value)

    def _do_healthcheck(self, rest: str) -> None:
        self.commands["health"] = json.loads(rest.partition("CMD ")[2])

    def _do_entrypoint(self, rest: str) -> None:
        self.commands["entry"] = json.loads(rest)

    def _do_cmd(self, rest: str) -> None:
        self.commands["serve"] = json.loads(rest)

    def _do_user(self, rest: str) -> None:
        self.commands["user"] = int(rest)

    def _do_expose(self, rest: str) -> None:
        assert rest == PORT

    def _do_volume(self, rest: str) -> None:
        assert Path(self.move(rest)).is_dir()

    def move(self, path: str) -> str:
        return ":".join(PATHS.sub(f"{self.folder}/", part) for part in path.split(":"))

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
        """A process in the final stage, as its user."""
        user: Any = {} if os.getuid() else {"user": self.commands["user"], "group": self.commands["user"]}
        environment = {key: value for key, value in self.environment.items() if not key.startswith("PIP_")}
        command = shutil.which(arguments[0], path=environment["PATH"]) or arguments[0]
        options: Any = {"cwd": self._work, "env": environment | {"HOME": "/nonexistent"} | variables, **user}
        return subprocess.Popen([command, *arguments[1:]], extra_groups=[] if user else None, **options)

    def run(self, *arguments: str) -> int:
        return self.start(*arguments).wait(120)


def try_service(image: Image) -> None:
    """Start the service, wait until it is healthy, use it, back it up, and stop it."""
    serve = [*image.commands["entry"], *image.commands["serve"], "--port", (port := "9271")]
    health = [part.replace(PORT, port) for part in image.commands["health"]]
    assert image.start(*serve).wait(60) == 1, "without a token, the service must not start"
    service = image.start(*serve, SHORTLIST_TOKEN="a-token")
    try:
        for _ in range(60):
            if image.run(*health) == 0:
                break
            assert service.poll() is None
            time.sleep(1)
        else:
            raise AssertionError("The service is not healthy after a minute.")
        url = f"http://127.0.0.1:{port}/v1/corpora"
        request = urllib.request.Request(url, headers={"Authorization": "Bearer a-token"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert json.load(answer)["corpora"][0]["name"] == "catalog"
        assert is_refused(url), "The service answers without a token."
        backup = image.move("/data/all.backup")
        assert image.run(*image.commands["entry"], "backup", backup) == 0
        assert Path(backup).stat().st_uid == (os.getuid() or image.commands["user"])
    finally:
        service.send_signal(signal.SIGTERM)
    assert service.wait(40) == 0
    print("The service starts, is healthy, and stops.")


def is_refused(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=30):
            return False
    except urllib.error.HTTPError as error:
        with error:
            return error.code == 401


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="image-") as folder:
        Path(folder).chmod(0o755)
        image = Image(Path(folder), Path(sys.argv[1] if sys.argv[1:] else sys.executable).resolve())
        image.run_steps()
        try_service(image)


if __name__ == "__main__":
    main()
