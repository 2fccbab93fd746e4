"""HAProxy as it is shipped, in front of two replicas: what it lets through, and to whom."""

import http.client
import os
import re
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from benchmarks.learners import learner, run
from playground.catalog import LESSONS
from tests.browser.conftest import Server, watch_console
from tests.browser.driver import Playground
from tests.browser.proxy import Proxy, find_haproxy, settings

if not find_haproxy() and not os.environ.get("CI"):
    pytest.skip("there is no HAProxy, and only root can install one", allow_module_level=True)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("proxy")
    own = ("STREAMLIT_SERVER_ADDRESS", "STREAMLIT_SERVER_PORT")
    public = {name: value for name, value in settings().items() if name not in own}
    with (
        Server(folder / "one.txt", settings=public) as one,
        Server(folder / "two.txt", settings=public) as two,
        Proxy(folder / "proxy.txt", [one.url, two.url]) as proxy,
    ):
        yield proxy


def get(proxy, path, headers=()):
    connection = http.client.HTTPConnection(urlsplit(proxy.url).netloc, timeout=10)
    connection.request("GET", path, headers=dict(headers))
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


INNER = [
    "/_stcore/metrics",
    "/masks/_stcore/metrics",
    "//_stcore/metrics",
    "/_stcore//metrics",
    "/%5fstcore/metrics",
    "/_stcore/%6detrics",
    "/_stcore/./metrics",
    "/_stcore/x/../metrics",
    "/%255fstcore/metrics",
    "/_STCORE/METRICS",
    "/_stcore%2fmetrics",
    "/_stcore/metrics/",
    "/_stcore/metrics?families=active_sessions",
]


@pytest.mark.parametrize("path", INNER)
def test_metrics_are_closed_however_they_are_spelt(proxy, path):
    answer, body = get(proxy, path)

    assert answer.status == 404
    assert b"active_sessions" not in body


def test_every_answer_has_the_headers_and_one_replica(proxy):
    answer, _ = get(proxy, "/")
    cookie = answer.getheader("Set-Cookie")
    again, _ = get(proxy, "/", {"Cookie": cookie.partition(";")[0]})
    refused, _ = get(proxy, INNER[0])

    assert re.fullmatch(r"replica=(one|two); path=/; HttpOnly; SameSite=Lax", cookie)
    assert again.getheader("Set-Cookie") is None
    for each in (answer, again, refused):
        assert each.getheader("X-Content-Type-Options") == "nosniff"
        assert each.getheader("Referrer-Policy") == "same-origin"
        assert "frame-ancestors 'self'" in each.getheader("Content-Security-Policy")


def test_a_link_of_sixteen_kilobytes_passes(proxy):
    answer, body = get(proxy, "/?e=" + "a" * 16_000)

    assert answer.status == 200
    assert b"streamlit" in body.lower()


def test_a_learner_works_through_it(proxy):
    async def move():
        async with learner(proxy.url) as one:
            await one.move()
            return one.report

    with ThreadPoolExecutor(1) as apart:  # Playwright may have a loop of its own in this thread
        report = apart.submit(run, move()).result()

    assert len(report.answers) == 1
    assert len(report.cookies) == 1


def test_every_page_works_under_the_content_security_policy(proxy, browser: Browser):
    page = browser.new_page(locale="en-US", viewport={"width": 1280, "height": 720})
    faults = watch_console(page)
    said = []
    page.on("console", lambda message: said.append(message.text))
    playground = Playground(page, proxy.url).open()
    for lesson in LESSONS[1:]:
        with playground.one_run():
            page.locator(f'a[href$="/{lesson.id}"]').first.click()

    page.close()
    assert [text for text in said if "Content Security Policy" in text] == []
    assert faults == []
