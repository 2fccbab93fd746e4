"""HAProxy as it is shipped, in front of servers on this machine; with --install, gets one."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

from tests.browser.conftest import ROOT, free_port
from tests.debian import install

CONFIGURATION = ROOT / "deploy/haproxy.cfg"


def find_haproxy() -> str | None:
    """Debian keeps it where only root's PATH looks."""
    return shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin")


def settings() -> dict[str, str]:
    """What a public host sets."""
    lines = (ROOT / "deploy/settings.env").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition("=")[::2] for line in lines if line and not line.startswith("#"))
    return dict(pairs)


class Proxy:
    """HAProxy in front of two replicas."""

    def __init__(self, log: Path, replicas: list[str]) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        first, second = (replica.removeprefix("http://") for replica in replicas)
        place = {"FRONT": f"127.0.0.1:{port}", "REPLICA_1": first, "REPLICA_2": second}
        program = find_haproxy()
        assert program, "no HAProxy: `make test` installs one"
        self.process = subprocess.Popen(
            [program, "-db", "-f", str(CONFIGURATION)],
            env={**os.environ, **place, "FRAME_ANCESTORS": "'self'"},
            stdout=log.open("w"),
            stderr=subprocess.STDOUT,
        )
        deadline = time.monotonic() + 20
        while not self._is_up():
            if time.monotonic() > deadline:
                raise TimeoutError(log.read_text())
            time.sleep(0.05)  # between two questions

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(timeout=30)

    def _is_up(self) -> bool:
        try:
            with urlopen(f"{self.url}/_stcore/health", timeout=1) as answer:
                return answer.read() == b"ok"
        except OSError:
            return False


if __name__ == "__main__":
    if find_haproxy() is None and "--install" in sys.argv:
        install("haproxy")
    print(find_haproxy() or "no HAProxy found: its tests are skipped")
