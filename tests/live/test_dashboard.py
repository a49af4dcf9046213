"""The dashboard in a real browser, on a real server."""

from pathlib import Path
from urllib.parse import quote

import browser as browsing
import numpy as np
import pytest

from lingape import Factors, Problem

HOSTILE = "<img src=x onerror=document.body.dataset.hacked=1>\"'&amp;</script><script>1</script>"
EYE = np.eye(3).tolist()
NAMES = ["red", "green", "blue"]
MEANS = [0.2, 0.9, 0.4]
WAIT = 60_000  # ms for the page to follow; the machine may be busy


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with browsing.serving(f"sqlite:///{tmp_path_factory.mktemp('db')}/run.db") as server:
        yield server


@pytest.fixture
def visit(chromium):
    """Open pages; at the end, none may have complained or called elsewhere."""
    contexts, complaints, elsewhere = [], [], []

    def note(message, trouble):
        refused = message.text.startswith("Failed to load resource")
        if message.type == "error" and not (trouble and refused):
            complaints.append(message.text)

    def visit(server, route="", *, trouble=False, **context):
        contexts.append(chromium.new_context(**context))
        page = contexts[-1].new_page()
        page.set_default_timeout(WAIT)
        page.on("request", lambda r: r.url.startswith(server.url) or elsewhere.append(r.url))
        page.on("console", lambda m: note(m, trouble))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{server.url}/#/{route}")
        page.wait_for_selector("h1")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert not complaints
    assert not [url for url in elsewhere if not url.startswith("blob:")]


def sees(page, selector, text):
    """Wait until an element says so."""
    page.locator(selector).filter(has_text=text).first.wait_for()


def test_the_page_says_what_was_learnt(server, visit):
    factors = Factors({"<b>tone</b>": ["warm", "dry"], "length": ["short", "long"]})
    problem = Problem(factors, noise=0.3, epsilon=0.01, control=0).to_dict()
    server.create("learnt", problem.pop("arms"), **problem)
    page = visit(server, "learnt")
    sees(page, "#values .note", "No averages yet")
    server.play("learnt", [0.1, 0.2, 1.4, 1.5], pulls=40)
    sees(page, "#values", "better by at least")
    sees(page, "#effects", "<b>tone</b>")
    sees(page, "#effects tr", "dry")
    sees(page, "#effects", "best")
    sees(page, ".facts", "still to go")
    told = [e for e in server.get("/api/experiments/learnt/events")["events"] if "reward" in e]
    reason = {"reason": "typing error"}
    server.post("/learnt/correct", {"what": told[0]["seq"], "reward": -0.5, **reason})
    sees(page, ".facts", "corrections")
    sees(page, "#log", f"The reward of event {told[0]['seq']} is −0.5: typing error")
    server.post("/learnt/retire", {"arm": 1, "reason": "sold out"})
    sees(page, "#log", "was retired: sold out")
    sees(page, "#values", "retired")
    sees(page, "#certificate", "It does not speak of retired arms")


def sideways(page):
    """Return by how many pixels the page can be scrolled to the side."""
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


def test_the_page_moves_with_rewards_until_the_certificate_appears(server, visit):
    server.create("moves", EYE, names=NAMES, noise=0.3, epsilon=0.05)
    page = visit(server, "moves")
    sees(page, "#connection", "Live")
    sees(page, ".headline", "No arm leads yet")
    page.evaluate("window.same = true")
    server.play("moves", MEANS, pulls=6)
    sees(page, ".facts", "6")
    sees(page, ".headline", "; a rival may still be better by up to")
    sees(page, "#bound figcaption", "6 pulls")
    assert page.get_by_role("row", name="green leader").count() == 3  # intervals, values, pulls
    assert not page.locator("#certificate.good").count()
    (ticket,) = server.post("/moves/ask", {})["tickets"]
    server.post("/moves/void", {"ticket": ticket["id"], "reason": "node lost"})
    sees(page, "#log", "was voided: node lost")

    assert server.play("moves", MEANS, pulls=500)
    sees(page, ".headline", "Settled: green is the answer.")
    proof = server.get("/api/experiments/moves/certificate")
    panel = page.locator("#certificate.good").inner_text()
    assert proof["statement"].split("\n")[0] in panel
    assert all(assumption in panel for assumption in proof["assumptions"])
    assert proof["digest"] in panel
    sees(page, "#announcer", "Settled: green is the answer.")
    assert page.evaluate("window.same")  # it was never loaded again
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the log").click()
    assert len(saved.value.path().read_text().splitlines()) == proof["event"]


def test_arms_are_ruled_out_one_by_one(server, visit):
    """Also where the scale of the noise is unknown and there is no curve."""
    server.create("raced", np.eye(4).tolist(), noise="normal")
    means = [0.5, 0.45, 0.3, 0.0]
    page = visit(server, "raced")
    while not (status := server.get("/api/experiments/raced"))["ruled_out"]:
        server.play("raced", means, pulls=1, noise=0.1, seed=status["pulls"])
    assert not status["settled"]
    out = status["ruled_out"]
    sees(page, ".headline", f"{out} of 4 arms {'is' if out == 1 else 'are'} ruled out as best.")
    sees(page, "#gaps th.evidence", "p-value of being best")
    head = page.locator("#gaps th.evidence")
    assert "If this arm were the best" in head.get_attribute("title")
    assert page.locator("#gaps td.evidence", has_text="ruled out").count() == out
    sees(page, "#gaps", "To stop, all arms but one have to be ruled out.")
    sees(page, "#bound", "Arms are ruled out one by one instead.")


@pytest.fixture(scope="module")
def doubtful(server):
    """Settled, and then told rewards that are not as supposed."""
    server.create("doubtful", EYE, names=NAMES, noise=0.3, epsilon=0.05, explorer="lingape")
    assert server.play("doubtful", MEANS, pulls=500)
    for _ in range(100):
        server.post("/doubtful/add", {"arm": 0, "reward": 9.0})
    return server


def test_later_rewards_change_no_verdict_on_the_page(doubtful, visit):
    page = visit(doubtful, "doubtful")
    assert doubtful.get("/api/experiments/doubtful")["leader_name"] == "red"
    sees(page, ".headline", "Settled: green is the answer.")
    sees(page, "#check.bad", "vary")
    page.goto(f"{doubtful.url}/#/")
    page.get_by_role("row", name="doubtful").get_by_text("green").wait_for()


def test_doubts_about_the_model_are_shown_with_what_to_do(doubtful, visit):
    page = visit(doubtful, "doubtful")
    sees(page, ".headline", "the data contradict what that assumes")
    assert not page.title().startswith("✓")
    assert page.locator(".headline.good, #certificate.good").count() == 0
    assert page.get_by_role("heading", name="What to do").is_visible()
    assert page.locator("#check .fits").is_hidden()  # one feature per arm: any averages fit
    sees(page, "#check", "any averages fit")
    # It stands before the curve.
    order = page.locator("main > section").evaluate_all("parts => parts.map((part) => part.id)")
    assert order.index("check") < order.index("bound")


def test_the_list_does_not_show_as_settled_what_is_doubtful(doubtful, visit):
    page = visit(doubtful)
    row = page.get_by_role("row", name="doubtful")
    row.get_by_text("settled, but doubtful").wait_for()
    row.get_by_text("1 warning").wait_for()
    assert row.locator(".good").count() == 0 and row.locator(".tag.bad").count() == 1
    warnings = doubtful.get("/api/experiments/doubtful")["warnings"]
    assert row.locator(".doubts").get_attribute("title") == "\n".join(warnings)


@pytest.fixture(scope="module")
def lossy(server):
    """The worst arm's bad rewards are voided, and it looks best."""
    server.create("lossy", EYE, names=NAMES, noise=0.5, epsilon=0.1)
    rng = np.random.default_rng(0)
    for _ in range(2_000):
        (ticket,) = server.post("/lossy/ask", {})["tickets"]
        body = {
            "ticket": ticket["id"],
            "reward": float(rng.random() < [0.4, 0.6, 0.5][ticket["arm"]]),
        }
        if ticket["arm"] == 0 and body["reward"] == 0:
            server.post("/lossy/void", {"ticket": ticket["id"], "reason": "no result"})
        elif server.post("/lossy/tell", body)["settled"]:
            return server
    raise AssertionError("it is not settled")


def test_arms_that_lose_tickets_are_shown_with_what_to_do(lossy, visit):
    page = visit(lossy, "lossy")
    status = lossy.get("/api/experiments/lossy")
    assert status["answer_name"] == "red" and status["voided"] > 20
    sees(page, "#check.bad", "Tickets of red are voided more often than those of other arms")
    sees(page, "#check .advice", "the worst reward for each such ticket")
    assert "features" not in page.locator("#check .advice").inner_text()
    sees(page, "#check .findings", "comes by chance in fewer than 1 of 10,000 cases")
    assert page.locator(".headline.good, #certificate.good").count() == 0
    counts = page.locator("#pulls td.voided").all_inner_texts()
    assert sum(map(int, counts)) == status["voided"] == max(map(int, counts))
    page.goto(f"{lossy.url}/#/")
    page.get_by_role("row", name="lossy").get_by_text("settled, but doubtful").wait_for()


def test_the_model_check_shows_how_far_off_arms_are(crowd, visit):
    page = visit(crowd, "crowd")
    check = crowd.get("/api/experiments/crowd")["check"]
    rows = page.locator("#check .fits tbody tr")
    sees(page, "#check", "The rewards do not contradict")
    assert rows.locator("th").all_inner_texts() == [fit["name"] for fit in check["arms"][:8]]
    off = float(rows.first.locator("td.off").inner_text().replace("−", "-"))
    assert off == pytest.approx(check["arms"][0]["z"], abs=0.06)
    sees(page, "#check .note", "Arms that fit better are not shown.")


def test_overdue_tickets_are_told_from_pending_ones(server, visit):
    server.create("late", EYE, names=NAMES, noise=0.3)
    server.post("/late/ask", {"n": 2, "ttl": "1d"})
    server.post("/late/ask", {"n": 3, "ttl": 1})
    page = visit(server, "late")
    sees(page, ".facts > div", "pending2")
    sees(page, ".facts > div", "overdue3")  # without an event: the time was over
    sees(page, ".facts > div", "voided0")
    for kind, count in (("pending", 2), ("overdue", 3)):
        assert sum(map(int, page.locator(f"#pulls td.{kind}").all_inner_texts())) == count


def test_names_are_text_whatever_is_in_them(server, visit):
    names = [HOSTILE, f"{HOSTILE} 2", "x" * 190]
    server.create("hostile", EYE, names=names, noise=0.3, epsilon=0.05)
    server.play("hostile", MEANS, pulls=8, worker=HOSTILE)
    (ticket,) = server.post("/hostile/ask", {})["tickets"]
    server.post("/hostile/void", {"ticket": ticket["id"], "reason": HOSTILE})
    page = visit(server, "hostile", trouble=True)
    sees(page, "#log", HOSTILE)
    sees(page, "#gaps", "<img src=x")
    page.goto(f"{server.url}/#/")
    sees(page, "table.list", "<img src=x")
    page.goto(f"{server.url}/#/{quote(HOSTILE, safe='')}")
    page.locator(".error").wait_for()
    assert page.evaluate("document.body.dataset.hacked") is None
    assert page.locator("main img, main script").count() == 0


@pytest.fixture(scope="module")
def crowd(server):
    """Fifty arms with long names, and more events than are shown."""
    names, arms, means = browsing.prompts()
    rng = np.random.default_rng(0)
    more = [[1.0, *row] for row in rng.uniform(-1, 0, (35, 5)).tolist()]
    names += [f"a variant that somebody described at some length, number {i}" for i in range(35)]
    server.create("crowd", arms + more, names=names, noise=0.5, epsilon=0.05)
    means = np.concatenate([means, np.array(more) @ [0.3, 0.2, 0.12, 0.05, 0.02, 0.1]])
    server.play("crowd", means, pulls=70, noise=0.4)
    server.post("/crowd/ask", {"n": 3})
    return server


def test_of_many_arms_thirty_are_shown_and_the_rest_told_of(crowd, visit):
    page = visit(crowd, "crowd")
    sees(page, "#gaps .note", "20 more are not shown")
    assert page.locator("#gaps tbody tr").count() == 30
    assert page.locator("#pulls tbody tr").count() == 30
    assert page.locator("#pulls .tag.leader").count() <= 1
    opened = page.locator("#pulls tbody tr td:nth-child(3)").all_inner_texts()
    assert sum(map(int, opened)) <= 3


def test_older_events_are_loaded_on_request(crowd, visit):
    page = visit(crowd, "crowd")
    rows = page.locator("#log tbody tr")
    events = crowd.get("/api/experiments/crowd")["event"]
    sees(page, "#log tbody", str(events))
    assert rows.count() == 100
    page.get_by_role("button", name="Load older").click()
    sees(page, "#log tbody", "Began with 50 arms, explored by race.")
    numbers = page.locator("#log tbody tr td:first-child").all_inner_texts()
    assert [int(number) for number in numbers] == list(range(events, 0, -1))
    assert page.get_by_role("button", name="Load older").count() == 0
    assert page.evaluate("document.activeElement.id") == "log-title"


@pytest.mark.parametrize("width", [320, 360, 800])
def test_nothing_scrolls_sideways(crowd, visit, width):
    page = visit(crowd, viewport={"width": width, "height": 740})
    page.locator("table.list").wait_for()
    assert sideways(page) == 0
    page.goto(f"{crowd.url}/#/crowd")
    sees(page, "#gaps .note", "not shown")
    page.get_by_text("The curve as a table").click()
    sees(page, "#bound tbody", "70")
    assert sideways(page) == 0
    assert page.locator("svg.chart").bounding_box()["width"] <= width


CONTRASTS = """() => {
  const parts = (text) => text.match(/[0-9.]+/g).map(Number);
  const light = (rgb) => {
    const [r, g, b] = rgb.slice(0, 3).map((c) => c / 255).map(
      (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !node.checkVisibility()) continue;
    if (node.closest("title, desc, noscript")) continue;
    const style = getComputedStyle(node);
    let behind = node;
    while (parts(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
    const ink = light(parts(node.closest("svg") ? style.fill : style.color));
    const paper = light(parts(getComputedStyle(behind).backgroundColor));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    found.push([ratio, walker.currentNode.textContent.slice(0, 40)]);
  }
  return found.sort((a, b) => a[0] - b[0]);
}"""


@pytest.mark.parametrize("name", ["doubtful", "crowd"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_colour_schemes_have_enough_contrast(crowd, doubtful, visit, scheme, name):
    page = visit(crowd, name, color_scheme=scheme)
    page.locator("#log tbody tr").first.wait_for()
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 200) == (scheme == "dark")
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 50
    assert contrasts[0][0] >= 4.5, contrasts[:5]  # WCAG AA


def test_the_keyboard_reaches_everything(crowd, visit):
    page = visit(crowd)
    page.get_by_role("link", name="crowd").wait_for()
    focused = "document.activeElement.textContent"
    reached = []
    while "crowd" not in reached:
        page.keyboard.press("Tab")
        reached.append(page.evaluate(focused))
        assert len(reached) < 20
    assert reached[:2] == ["Skip to content", "lingape"]
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="crowd", level=1).wait_for()
    page.locator("#log tbody tr").first.wait_for()
    assert page.evaluate("document.activeElement.id") == "main"
    reached = []
    while "Load older" not in reached:
        page.keyboard.press("Tab")
        reached.append(page.evaluate(f"document.activeElement.id || {focused}"))
        assert len(reached) < 20
    assert {"All experiments", "logarithmic", "The curve as a table"} <= set(reached)
    page.go_back()
    page.get_by_role("heading", name="Experiments").wait_for()


def test_screen_readers_find_their_way(crowd, visit):
    page = visit(crowd, "crowd")
    page.locator("#log tbody tr").first.wait_for()
    for role in ("banner", "main", "navigation"):
        assert page.get_by_role(role).count() == 1
    assert page.locator("h1").count() == 1
    for name in ("How far from proven", "Arms against the leader", "Pulls", "Model check", "Log"):
        assert page.get_by_role("region", name=name, exact=True).count() == 1
    for table in page.locator("table").all():
        assert table.locator("caption").inner_text() or not table.is_visible()
    chart = page.get_by_role("img", name="By how much a rival may still be better")
    assert "after 70 pulls" in chart.locator("desc").text_content()
    assert page.locator("svg:not([role=img]):not([aria-hidden=true])").count() == 0
    said = page.locator("#announcer").inner_text()
    crowd.post("/crowd/add", {"arm": 20, "reward": 0.0})
    sees(page, ".facts", str(crowd.get("/api/experiments/crowd")["pulls"]))
    assert page.locator("#announcer").inner_text() == said  # not at every reward


def test_scales_can_be_switched(crowd, visit):
    page = visit(crowd, "crowd")
    box = page.get_by_role("checkbox", name="Logarithmic scale")
    page.locator("svg.chart").wait_for()
    assert box.is_checked()
    before = page.locator("svg.chart .curve").get_attribute("d")
    box.uncheck()
    assert page.locator("svg.chart .curve").get_attribute("d") != before


def test_without_a_stream_it_asks_again(server, visit):
    server.create("polled", EYE, names=NAMES, noise=0.3)
    page = visit(server, trouble=True)
    page.route("**/stream", lambda route: route.abort())
    page.goto(f"{server.url}/#/polled")
    sees(page, "#connection", "Updated every few seconds")
    server.play("polled", MEANS, pulls=8)
    sees(page, ".headline", "green leads")


def test_a_tab_that_nobody_looks_at_holds_no_connection(server, visit):
    server.create("unseen", EYE, names=NAMES, noise=0.3)
    page = visit(server, "unseen", trouble=True)
    sees(page, "#connection", "Live")
    turn = """(hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/stream")):
        page.evaluate(turn, True)
    streams = []
    page.on("request", lambda request: streams.append(request.url.endswith("/stream")))
    page.wait_for_timeout(1_500)
    assert not any(streams)
    server.play("unseen", MEANS, pulls=8)
    page.evaluate(turn, False)
    sees(page, ".headline", "green leads")
    assert any(streams)


def test_it_comes_back_when_the_server_does(tmp_path, visit):
    with browsing.serving(f"sqlite:///{tmp_path}/run.db") as server:
        server.create("back", EYE, names=NAMES, noise=0.3)
        page = visit(server, "back", trouble=True)
        sees(page, "#connection", "Live")
        server.stop()
        sees(page, "#connection", "Connection lost")
        server.start()
        server.play("back", MEANS, pulls=8)
        sees(page, "#connection", "Live")
        sees(page, ".headline", "green leads")


def test_a_page_opened_while_the_server_is_away_appears_when_it_is_back(tmp_path, visit):
    with browsing.serving(f"sqlite:///{tmp_path}/run.db") as server:
        server.create("later", EYE, names=NAMES, noise=0.3)
        page = visit(server, trouble=True)
        page.wait_for_selector("table.list a")
        server.stop()
        page.click("table.list a")
        sees(page, "#main", "cannot be reached")
        sees(page, "#connection", "trying again")
        page.focus("button:text('Try again')")
        server.start()
        sees(page, "#main h1", "later")
        sees(page, "#connection", "Live")


def test_the_list_is_kept_up_to_date(tmp_path, visit):
    with browsing.serving(f"sqlite:///{tmp_path}/run.db") as server:
        page = visit(server)
        sees(page, "main", "There are no experiments in this database yet.")
        server.create("first", EYE, names=NAMES, noise=0.3)
        server.play("first", MEANS, pulls=8)
        sees(page, "table.list", "green")


def test_a_token_is_asked_for(tmp_path, visit):
    tokens = {"read_token": "only-for-reading", "write_token": "for-everything"}
    with browsing.serving(f"sqlite:///{tmp_path}/run.db", **tokens) as server:
        server.create("secret", EYE, names=NAMES, noise=0.3)
        server.play("secret", MEANS, pulls=8)
        page = visit(server, "secret", trouble=True)
        field = page.get_by_label("Token for reading")
        field.fill("a guess")
        field.press("Enter")
        assert page.get_by_role("heading", name="Enter a token").is_visible()  # has a space
        field.fill("a-guess-too")
        field.press("Enter")
        sees(page, ".error", "token")
        page.get_by_label("Token for reading").fill(tokens["read_token"])
        page.get_by_role("button", name="Open").click()
        sees(page, ".headline", "green leads")
        sees(page, "#connection", "Live")
        page.reload()
        sees(page, ".headline", "green leads")


def test_what_is_not_there_is_said(server, visit):
    page = visit(server, "nowhere", trouble=True)
    sees(page, ".error", "nowhere")
    page.get_by_role("link", name="All experiments").click()
    page.get_by_role("heading", name="Experiments").wait_for()


def test_the_files_call_nobody_and_write_no_html():
    for file in (Path(__file__).parents[2] / "src/lingape/live/dashboard").iterdir():
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        for unfit in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "http:",
            "https:",
            " style=",
        ):
            assert unfit not in text, (file.name, unfit)
