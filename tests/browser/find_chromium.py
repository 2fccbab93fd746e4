"""Finds the Chromium that the browser tests drive; with --install, gets one if there is none."""

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.debian import install

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium() -> str | None:
    """The path of a Chromium: the one on PATH, else the one Playwright has downloaded."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install_chromium() -> None:
    """From Debian's packages as root, else Playwright's own download."""
    if not install("chromium"):
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


if __name__ == "__main__":
    if find_chromium() is None and "--install" in sys.argv:
        install_chromium()
    found = find_chromium()
    print(found or "no Chromium found")
    sys.exit(found is None)
