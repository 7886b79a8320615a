"""The pages in a real browser: they show the answer's own numbers, ask nobody for anything, and hold text as text."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

pytestmark = pytest.mark.chromium

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP, PHONE = {"width": 1_200, "height": 900}, {"width": 360, "height": 740}
HOSTILE = (
    "</script><script>window.owned=1</script><img src=x onerror=window.owned=1><svg onload=window.owned=1>"
    "\"'><b id=owned>{{ 7*7 }}</style></title></textarea><iframe src=//example.invalid></iframe>"
    "<a href=javascript:window.owned=1>x</a>\u0000\u0007\u001b[31m\u202etxt.exe\u2066"
)
SMALL = ("--set", "max_input_tokens=60000")

Look = Callable[..., Path]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "the tests of the pages need a Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def look(tmp_path_factory: pytest.TempPathFactory, environment: Callable[..., dict[str, str]]) -> Look:
    """Runs a command with --html and --json; its page is beside its answer, `page.html` and `answer.json`."""

    def run(command: str, body: Path, *options: str) -> Path:
        folder = tmp_path_factory.mktemp("page")
        page, histories = folder / "page.html", str(folder / "histories")
        done = subprocess.run(
            [sys.executable, "-m", "compactor", command, body, "--html", page, "--json", *options],
            env=environment(HANGO_HISTORY_ROOT=histories),
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        (folder / "answer.json").write_bytes(done.stdout)
        return page

    return run


@pytest.fixture(scope="module")
def summarized(look: Look, sessions: Path) -> Path:
    return look("compact", sessions / "explore-anthropic.json", *SMALL, "--explain")


@pytest.fixture(scope="module")
def clipped(look: Look, sessions: Path) -> Path:
    return look("compact", sessions / "explore-openai.json", "--set", "max_input_tokens=180000", "--explain")


@pytest.fixture(scope="module")
def replayed(look: Look, sessions: Path) -> Path:
    return look("replay", sessions / "explore-anthropic.json", *SMALL)


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page, in a size and a scheme; at the end nothing may have been asked for, logged or thrown."""
    contexts: list[Any] = []
    troubles: list[str] = []
    asked: list[str] = []

    def open_page(path: Path, *, size: dict[str, int] = DESKTOP, scheme: str = "light") -> Page:
        context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"thrown: {error}"))
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []
    assert [url for url in asked if not url.startswith("file:") or not url.endswith("page.html")] == []
    assert len(asked) == len(contexts)


def answer_of(page: Path) -> Any:
    return json.loads(page.with_name("answer.json").read_bytes())


def number(page: Page, name: str) -> int:
    text = page.locator(f"[data-number='{name}']").first.inner_text()
    return int(text.replace(",", ""))


@pytest.mark.parametrize("which", ["summarized", "clipped"])
def test_the_numbers_are_those_of_the_answer(
    opened: Callable[..., Page], which: str, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(which)
    page, answer = opened(path), answer_of(path)
    told = answer["explanation"]
    assert number(page, "original") == number(page, "before") == int(answer["originalInputTokens"])
    assert number(page, "compacted") == number(page, "after") == int(answer["compactedInputTokens"])
    assert number(page, "room") == int(answer["availableInputTokens"])
    assert number(page, "wanted") == told.get("wantedFirstKeptIndex", 0)
    assert number(page, "taken") == told.get("firstKeptIndex", 0)
    for when, use in (("before", told["original"]), ("after", told["compacted"])):
        for name in ("system", "tools", "summary", "kept", "clipped"):
            assert number(page, f"{when}-{name}") == int(use.get(name, 0))
    fates = [fate["fate"].removeprefix("FATE_").lower() for fate in told["messages"]]
    assert number(page, "evicted") == fates.count("evicted")
    assert number(page, "clipped") == fates.count("clipped")
    rows = page.locator(".row:not(.r-made)")
    assert rows.evaluate_all("rows => rows.map(row => row.className.split('r-')[1])") == fates
    shown = rows.evaluate_all("rows => rows.map(row => row.querySelector('.tokens').textContent.split(' ')[0])")
    assert [int(text.replace(",", "")) for text in shown] == [int(fate["inputTokens"]) for fate in told["messages"]]


def test_the_bars_are_as_long_as_their_tokens(opened: Callable[..., Page], summarized: Path) -> None:
    page, answer = opened(summarized), answer_of(summarized)
    scale = max(60_000, int(answer["originalInputTokens"]))
    for at, use in enumerate(("original", "compacted")):
        for name, tokens in answer["explanation"][use].items():
            bar = page.locator("figure.bar:not(.strip) svg").nth(at).locator(f"rect.p-{name}")
            assert float(bar.get_attribute("width") or 0) == pytest.approx(1_000 * int(tokens) / scale, abs=0.006)


def test_the_page_says_where_it_was_cut_and_why(opened: Callable[..., Page], summarized: Path) -> None:
    page, answer = opened(summarized), answer_of(summarized)
    cut = page.locator("section", has=page.locator("#h-cut")).inner_text()
    assert answer["explanation"]["boundaryNote"] in cut
    assert answer["history"]["path"] in cut
    notices = page.locator(".notices").inner_text()
    assert all(notice["detail"] in notices for notice in answer["notices"])
    assert page.locator(".marks").inner_text().splitlines() == ["message 0"]
    assert page.locator(".r-made .mark").text_content() == "cached up to here"
    for label, name in (("Requests", "requests"), ("Files", "files"), ("Tool outcomes", "toolOutcomes")):
        count = page.locator(f"[data-retained='{label}']").inner_text()
        assert int(count) == len(answer["retained"][name])


def test_a_clipped_value_shows_what_was_cut(opened: Callable[..., Page], clipped: Path) -> None:
    page = opened(clipped)
    row = page.locator(".r-clipped").first
    row.locator("summary").click()
    gone, instead = row.locator("del").first, row.locator("ins").first
    assert gone.is_visible()
    assert "characters clipped here to save context" in instead.inner_text()
    assert len(gone.inner_text()) > 50


def test_a_replay_shows_the_numbers_of_its_json(opened: Callable[..., Page], replayed: Path) -> None:
    page, answer = opened(replayed), answer_of(replayed)
    for way, told in answer["ways"].items():
        for name in ("calls", "sent", "read", "written", "uncached"):
            assert number(page, f"{way}-{name}") == told[name]
        cost = page.locator(f"[data-number='{way}-cost']").inner_text()
        assert float(cost.strip("$")) == pytest.approx(told["cost"], rel=0.005)
    assert f"fails at call {answer['ways']['never']['fails_at']['call']}" in page.locator("h1").inner_text()
    drawn = page.locator("svg[role=img] line.at")
    assert drawn.count() == 2 * len(answer["compactions"]) > 0
    points = page.locator("svg[role=img] polyline.w-compact").first.get_attribute("points") or ""
    heights = [400 - float(point.split(",")[1]) for point in points.split()]
    sent = [sum(call["ways"]["compact"][name] for name in USES) for call in answer["calls"]]
    assert [height / heights[0] for height in heights] == pytest.approx([n / sent[0] for n in sent], rel=0.05)


USES = ("read", "written", "written_long", "uncached")


def hostile_body(folder: Path, *, count: int = 12, text: str = HOSTILE) -> Path:
    """A session of which every text that a page could show is hostile, the name of its file among them."""
    messages: list[Any] = [{"role": "user", "content": f"{text} always answer in French"}]
    for at in range(count):
        call = {"type": "tool_use", "id": f"t{at}", "name": "read_file", "input": {"path": f"/src/{at}.py{text}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{at}", "content": f"error: {text} {at} " * 40}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    body = {
        "model": f"claude-haiku-4-5-<script>{text}",
        "max_tokens": 1_000,
        "system": text,
        "tools": [{"name": "read_file", "description": text, "input_schema": {"type": "object"}}],
        "messages": messages,
    }
    path = folder / "<img src=x onerror=window.owned=1>&quot.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    return path


@pytest.mark.parametrize("command", ["compact", "replay"])
def test_hostile_content_stays_text(opened: Callable[..., Page], look: Look, tmp_path: Path, command: str) -> None:
    options = ("--set", "max_input_tokens=12000", "--set", "reserve_output_tokens=1000")
    page = opened(look(command, hostile_body(tmp_path), *options))
    assert page.evaluate("typeof window.owned") == "undefined"
    assert page.locator("script, img, iframe, #owned, [onload], [onerror], a[href^=javascript]").count() == 0
    assert page.locator("style").count() == page.locator("title").count() == 1
    assert "<img src=x onerror=window.owned=1>" in page.locator(".kicker").inner_text()
    text = page.locator("body").evaluate("body => body.textContent")
    assert not [letter for letter in "\x00\x07\x1b\u202e\u2066" if letter in text]
    if command == "compact":
        page.locator("#m0 summary").click()
        shown = page.locator("#m0 pre").first.inner_text()
        assert "</script><script>window.owned=1</script>" in shown
        assert "⟨U+0000⟩" in shown
        assert "⟨U+202E⟩" in shown
        assert "{{ 7*7 }}" in shown


def test_text_that_is_not_shown_is_said(opened: Callable[..., Page], look: Look, tmp_path: Path) -> None:
    body = {
        "model": "claude-haiku-4-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "wörd " * 400_000}],
    }
    (tmp_path / "long.json").write_text(json.dumps(body), encoding="utf-8")
    path = look("compact", tmp_path / "long.json", "--set", "max_input_tokens=2000000")
    page = opened(path)
    assert path.stat().st_size < 100_000
    left_out = page.locator("#m0 .left-out").text_content()
    assert left_out is not None
    assert "1,996,000 characters are left out" in left_out


def test_two_thousand_messages_are_all_there(opened: Callable[..., Page], look: Look, tmp_path: Path) -> None:
    path = look("compact", hostile_body(tmp_path, count=1_000, text="a line of output\n" * 6), *SMALL)
    page = opened(path)
    assert page.locator(".row:not(.r-made)").count() == 2_001
    assert path.stat().st_size < 5_000_000


@pytest.mark.parametrize("which", ["summarized", "clipped", "replayed"])
def test_a_phone_shows_the_page_without_moving_it_sideways(
    opened: Callable[..., Page], which: str, request: pytest.FixtureRequest
) -> None:
    page = opened(request.getfixturevalue(which), size=PHONE)
    page.evaluate("[...document.querySelectorAll('details')].slice(0, 60).forEach(one => { one.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


THINNING = """for (const list of [".r-evicted", ".r-kept", ".r-clipped", "tbody tr"])
    [...document.querySelectorAll(list)].slice(30).forEach(row => row.remove())"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["summarized", "clipped", "replayed"])
def test_nothing_stands_in_the_way_of_a_reader(
    browser: Browser, which: str, scheme: str, request: pytest.FixtureRequest
) -> None:
    page = browser.new_page(viewport=DESKTOP, color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(request.getfixturevalue(which).as_uri())
    page.evaluate("[...document.querySelectorAll('details')].slice(0, 40).forEach(one => { one.open = true })")
    page.evaluate(
        "document.querySelectorAll('.r-clipped, .r-made').forEach((row, at) => {"
        "if (at < 3) row.querySelector('details').open = true})"
    )
    page.evaluate(THINNING)  # axe looks at every element, and one row is like another
    found = Axe().run(page)
    told = [f"{one['id']}: {[node['html'][:120] for node in one['nodes'][:3]]}" for one in found.response["violations"]]
    assert told == []
    page.close()


def test_the_schemes_differ(browser: Browser, summarized: Path) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(summarized.as_uri())
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.close()
    assert len(set(grounds)) == 2


def test_a_page_is_worked_by_keys_alone(opened: Callable[..., Page], summarized: Path) -> None:
    page = opened(summarized)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")
    for _ in range(60):
        if page.evaluate("document.activeElement.id") == "show-all":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "show-evicted"
    assert page.locator(".r-evicted").first.is_visible()
    assert not page.locator(".r-kept").first.is_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator(".r-evicted pre").first.is_visible()


@contextmanager
def listening() -> Iterator[tuple[str, list[str]]]:
    """The address of an HTTP server of our own, and the paths that it was asked for."""
    heard: list[str] = []

    class Heard(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.path)
            self.send_error(404)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Heard) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", heard
        finally:
            server.shutdown()


ADDING = """address => new Promise(resolve => {
    const add = (tag, name, value) => {
        const made = document.createElement(tag);
        made.onerror = () => setTimeout(() => resolve(found.sort()), 500);
        made[name] = value;
        document.body.append(made);
    };
    const found = [];
    document.addEventListener('securitypolicyviolation', event => {
        found.push(event.effectiveDirective);
        if (found.length === 3) resolve(found.sort());
    });
    add('script', 'textContent', 'window.owned = 1');
    add('style', 'textContent', 'body { color: red }');
    add('img', 'src', address + '/x.png');
})"""


def test_the_policy_forbids_what_a_page_would_load(browser: Browser, summarized: Path, tmp_path: Path) -> None:
    page = browser.new_page()
    with listening() as (address, heard):
        page.goto(summarized.as_uri())
        page.evaluate(f"fetch('{address}/fetched').catch(() => 0)")
        broken = page.evaluate(ADDING, address)
        assert heard == []
        bare = tmp_path / "bare.html"
        bare.write_text("<body></body>", encoding="utf-8")
        page.goto(bare.as_uri())
        page.evaluate(ADDING, address)
        assert heard == ["/x.png"], "without a policy, the server would have heard"
    assert broken == ["img-src", "script-src-elem", "style-src-elem"]
    page.close()
