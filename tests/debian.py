"""Debian's packages, where whoever runs the tests may install some."""

import os
import shutil
import subprocess


def install(package: str) -> bool:
    """Install a package as root; whether that is possible here."""
    if not (hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get")):
        return False
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], check=True, env=environment)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return True
