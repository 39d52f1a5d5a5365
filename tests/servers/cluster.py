"""Servers on loopback, run as another user when we are root, that never outlive this process."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx2

from tests.servers.archive import fetch, java_home

USER, GROUP = "nobody", "nogroup"  # both servers refuse to run as root
HEAP = "512m"
START_SECONDS = 180.0
QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")  # starts with half the work
STEADY = ("-XX:+UseG1GC",)  # as shipped, for measurements
LOG4J = """status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""
# A server dies with the thread that started it (pdeathsig), so that thread must last as long as we do.
_starter = ThreadPoolExecutor(1, thread_name_prefix="servers")


@dataclass
class Node:
    """One server of a cluster: its folder, its ports and, while it runs, its process."""

    name: str
    folder: Path
    http: int
    transport: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http}"

    def log(self) -> str:
        """The end of its log."""
        return (self.folder / "log").read_text("utf-8", "replace")[-3000:]


class Cluster:
    """Servers of one kind that know each other; stopped at the end of a `with`, or with this process."""

    def __init__(self, kind: str, nodes: int, folder: Path, quick: bool) -> None:
        self.kind, self.folder, self.quick = kind, folder, quick
        self._home = fetch(kind)
        ports = _free_ports(2 * nodes)
        self.nodes = [Node(f"node-{i}", folder / f"node-{i}", ports[2 * i], ports[2 * i + 1]) for i in range(nodes)]
        self._client = httpx2.Client(trust_env=False, timeout=30)

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    def kill(self, i: int) -> None:
        """Kill node i at once, without a clean shutdown."""
        process, self.nodes[i].process = self.nodes[i].process, None
        if process is not None:
            with suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(process.pid, signal.SIGKILL)  # it leads a group of its own: Elasticsearch is two processes
            process.wait()

    def restart(self, i: int) -> None:
        """Start node i again on its own data, and wait until it answers; a running one is killed first."""
        self.kill(i)
        self._spawn(self.nodes[i])
        self._answers(self.nodes[i], START_SECONDS)

    def leader(self) -> int:
        """The number of the elected node: the worst one to lose."""
        url = next(node.url for node in self.nodes if node.process is not None)
        name = self._client.get(f"{url}/_cat/master", params={"h": "node"}).raise_for_status().text.strip()
        return [node.name for node in self.nodes].index(name)

    def wait(self, status: str, seconds: float = 60) -> None:
        """Until the cluster has this status ("green", or "yellow" at least) and knows which nodes are alive."""
        alive = [node for node in self.nodes if node.process is not None]
        enough = ("green", "yellow") if status == "yellow" else (status,)
        end, health = time.monotonic() + seconds, "no answer"
        while time.monotonic() < end:
            try:
                reply = self._client.get(f"{alive[0].url}/_cluster/health").raise_for_status()
            except httpx2.HTTPError as error:
                health = str(error)
            else:
                health = reply.text
                known: dict[str, Any] = reply.json()
                if known["status"] in enough and known["number_of_nodes"] == len(alive):
                    return
            time.sleep(0.2)
        raise TimeoutError(f"{self.kind} is not {status} after {seconds:.0f} seconds: {health}")

    def stop(self) -> None:
        """Kill every node and delete what they wrote."""
        for i in range(len(self.nodes)):
            self.kill(i)
        self._client.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _start(self) -> None:
        for node in self.nodes:
            self._configure(node)
            self._spawn(node)
        for node in self.nodes:
            self._answers(node, START_SECONDS)
        self.wait("green", START_SECONDS)

    def _configure(self, node: Node) -> None:
        manager = "cluster_manager" if self.kind == "opensearch" else "master"
        settings: dict[str, Any] = {
            "cluster.name": f"shortlist-{self.nodes[0].http}",
            "node.name": node.name,
            "path.data": str(node.folder / "data"),
            "path.logs": str(node.folder / "logs"),
            "network.host": "127.0.0.1",
            "http.port": node.http,
            "transport.port": node.transport,
            "discovery.seed_hosts": [f"127.0.0.1:{other.transport}" for other in self.nodes],
            f"cluster.initial_{manager}_nodes": [other.name for other in self.nodes],
            "cluster.routing.allocation.disk.threshold_enabled": False,
        }
        if self.kind == "elasticsearch":
            settings |= {
                "xpack.security.enabled": False,
                "xpack.ml.enabled": False,
                "ingest.geoip.downloader.enabled": False,
            }
        for part in ("config", "data", "logs", "tmp"):
            (node.folder / part).mkdir(parents=True)
        config = node.folder / "config"
        if self.quick:  # its collector leaves garbage until there is no more room, which a breaker takes for use
            settings["indices.breaker.total.use_real_memory"] = False
        (config / f"{self.kind}.yml").write_text(json.dumps(settings, indent=1), "utf-8")  # JSON is YAML
        (config / "log4j2.properties").write_text(LOG4J, "utf-8")
        options = [
            f"-Xms{HEAP}",
            f"-Xmx{HEAP}",
            *(QUICK if self.quick else STEADY),
            "18-:-Djava.security.manager=allow",
        ]
        options += [f"-Djava.io.tmpdir={node.folder / 'tmp'}", f"-XX:ErrorFile={node.folder / 'logs' / 'hs_err.log'}"]
        (config / "jvm.options").write_text("\n".join([*options, ""]), "utf-8")
        if os.geteuid() == 0:
            for path in (node.folder, *node.folder.rglob("*")):
                shutil.chown(path, USER, GROUP)

    def _spawn(self, node: Node) -> None:
        prefix = "OPENSEARCH" if self.kind == "opensearch" else "ES"
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(node.folder),
            f"{prefix}_PATH_CONF": str(node.folder / "config"),
            f"{prefix}_TMPDIR": str(node.folder / "tmp"),
            f"{prefix}_JAVA_HOME": str(java_home()),
        }
        other_user = [f"--reuid={USER}", f"--regid={GROUP}", "--clear-groups"] if os.geteuid() == 0 else []
        command = ["setpriv", "--pdeathsig=KILL", "--no-new-privs", *other_user, str(self._home / "bin" / self.kind)]
        with (node.folder / "log").open("ab") as log:
            node.process = _starter.submit(
                subprocess.Popen,
                command,
                env=environment,
                cwd=node.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ).result()

    def _answers(self, node: Node, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if node.process is None or node.process.poll() is not None:
                raise RuntimeError(f"{self.kind} ended while it was starting:\n{node.log()}")
            with suppress(httpx2.HTTPError):
                if self._client.get(node.url).is_success:
                    return
            time.sleep(0.2)
        raise TimeoutError(f"{self.kind} does not answer after {seconds:.0f} seconds:\n{node.log()}")


def start(kind: str, nodes: int = 1, folder: Path | None = None, quick: bool = True) -> Cluster:
    """A new cluster of that many nodes, ready to be used; its data goes into a temporary folder unless one is given.

    Quick ones are made for short tests: Java compiles for them only once, and less well.
    """
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix=f"shortlist-{kind}-"))
        folder.chmod(0o755)  # the user that the servers run as must get to its own folder below
    cluster = Cluster(kind, nodes, folder, quick)
    try:
        cluster._start()
    except BaseException:
        cluster.stop()
        raise
    return cluster


def _free_ports(count: int) -> list[int]:
    """Free ports, below those that the system gives to outgoing connections."""
    ports: list[int] = []
    while len(ports) < count:
        port = 20000 + secrets.randbelow(12000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in ports:
            ports.append(port)
    return ports
