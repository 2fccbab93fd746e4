"""Runs every benchmark, prints one table and keeps it in benchmarks/results.md: `make bench`."""

import os
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import streamlit
from playwright.sync_api import Browser

from benchmarks import bench, core, interaction, lessons, sentiment, start_up
from tests.browser.conftest import chromium

RESULTS = Path(__file__).with_name("results.md")
TEXT = """\
# Results

Written by `make bench`; what each line measures stands in `benchmarks/`, where the time goes in
`docs/decisions/0005-where-the-time-goes.md`.

- {date}
- {machine}
- {versions}
- load average {before} before, {after} after

Medians of {n}, quartiles in brackets. The floor is a Streamlit app with a slider and a line of
text under the same settings, measured in turn with ours in one Chromium. The ratios are what
counts: milliseconds are those of this machine on that day, and a busy machine makes both slower.

{table}
"""


def rows(browser: Browser) -> Iterator[bench.Row]:
    yield from interaction.measure(browser)
    yield from lessons.measure(browser)
    yield from start_up.measure(browser)
    yield from core.measure()
    yield from sentiment.measure()


def load() -> str:
    return " ".join(f"{average:.1f}" for average in os.getloadavg())


def processor() -> str:
    """The model as Linux tells it, else as Python does."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def main() -> None:
    before = load()
    with chromium() as browser:
        table = bench.printed(rows(browser))
        versions = f"Python {platform.python_version()}, Streamlit {streamlit.__version__}, "
        versions += f"Chromium {browser.version}"
    text = TEXT.format(
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        machine=f"{processor()}, {os.cpu_count()} cores, {platform.system()}",
        versions=versions,
        before=before,
        after=load(),
        n=bench.N,
        table=table,
    )
    RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
