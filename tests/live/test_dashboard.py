"""The dashboard in a real browser, on a real server."""

import re
from pathlib import Path
from urllib.parse import quote

import browser as browsing
import numpy as np
import pytest

from lingape import Factors, Problem
from lingape.live.reports import PAGE

AXE = (Path(__file__).parent / "vendor/axe.min.js").read_text("utf-8")
TABS = ("arms", "factors", "progress", "activity", "check", "certificate", "log")
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
    assert not [url for url in elsewhere if not url.startswith(("blob:", "file:"))]


def sees(page, selector, text):
    """Wait until an element says so."""
    page.locator(selector).filter(has_text=text).first.wait_for()


def sideways(page):
    """Return by how many pixels the page can be scrolled to the side."""
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


def shown(page):
    """Return the tab that is open."""
    return page.locator("[role=tabpanel]:visible")


def open_tab(page, name):
    """Open a tab and wait for what is on it."""
    page.get_by_role("tab", name=name, exact=True).click()
    page.locator("[role=tabpanel]:visible").wait_for()


def flaws(page):
    """Return what axe-core finds fault with."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]


@pytest.fixture(scope="module")
def mails(server):
    """Arms made of factors, with a control, voided and late tickets, and several workers."""
    factors = Factors({"<b>tone</b>": ["warm", "dry"], "length": ["short", "long"]})
    problem = Problem(factors, noise=0.3, epsilon=0.01, control=0).to_dict()
    about = {
        "question": "Which mail brings people back?",
        "notes": "We believe in short ones.\n<b>Really.</b>",
        "owner": "Growth team",
    }
    server.post("", {"name": "mails", "problem": problem, **about})
    server.play("mails", [0.1, 0.2, 1.4, 1.5], pulls=40, noise=0.05)
    for reason in ("node lost", "node lost again"):
        (ticket,) = server.post("/mails/ask", {"worker": "gpu-2"})["tickets"]
        server.post("/mails/void", {"ticket": ticket["id"], "reason": reason})
    server.post("/mails/ask", {"n": 2, "worker": "gpu-2", "ttl": "1d"})
    return server


def test_an_experiment_reads_like_a_report(mails, visit):
    page = visit(mails, "mails")
    status = mails.get("/api/experiments/mails")
    sees(page, "h1", "Which mail brings people back?")
    sees(page, ".about", "mails · since")
    sees(page, ".about", "Growth team")
    sees(page, ".notes", "<b>Really.</b>")
    assert page.locator(".verdict").inner_text() == status["verdict"][0]
    assert page.locator(".verdict-more").inner_text() == " ".join(status["verdict"][1:])
    sees(page, "#rests", "The rewards do not contradict")
    page.get_by_text("What is assumed").click()
    assert all(
        assumption in page.locator("#rests").inner_text()
        for assumption in status["certificate"]["assumptions"]
    )
    page.get_by_role("button", name="Exact certificate").click()
    sees(page, "[role=tabpanel]:visible", "lingape live verify mails.jsonl")
    assert page.url.endswith("#/mails/certificate")
    assert page.evaluate("document.activeElement.id") == "tab-certificate"


def test_words_are_explained_where_they_stand(mails, visit):
    page = visit(mails, "mails")
    word = page.get_by_role("button", name="overdue", exact=True)
    assert word.get_attribute("aria-expanded") == "false"
    word.click()
    sees(page, "#rests .explanation", "It still counts when it comes.")
    assert word.get_attribute("aria-expanded") == "true"
    voided = mails.get("/api/experiments/mails")["voided"]
    (ticket,) = mails.post("/mails/ask", {})["tickets"]
    mails.post("/mails/void", {"ticket": ticket["id"], "reason": "typing"})
    page.locator(".facts > div").filter(has_text="voided").filter(
        has_text=str(voided + 1)
    ).wait_for()
    assert word.get_attribute("aria-expanded") == "true"  # an update does not close it
    assert page.evaluate("document.activeElement.textContent") == "overdue"


def test_arms_are_shown_in_three_ways(mails, visit):
    page = visit(mails, "mails/arms")
    chart = page.get_by_role("img", name="What arms pay")
    chart.get_by_text("more than the control").wait_for()
    show = shown(page).get_by_label("Show")
    show.select_option("Averages")
    chart.get_by_text("average reward").wait_for()
    show.select_option("Against the leader")
    chart.get_by_text("better than the leader").wait_for()
    rows = page.locator("table.arms tbody tr")
    sees(page, "table.arms", "the control")
    sees(page, "table.arms", "better by at least")
    assert rows.count() == 4
    status = mails.get("/api/experiments/mails")
    sees(page, "figure", f"{status['ruled_out']} of 4 arms")


def test_effects_of_factors_are_shown(mails, visit):
    page = visit(mails, "mails/factors")
    chart = page.get_by_role("img", name="What factors do")
    chart.get_by_text("<b>tone</b>: dry (best)").wait_for()
    assert page.locator("main b").count() == 0


def test_the_way_to_the_proof_is_shown_over_pulls_and_over_time(mails, visit):
    page = visit(mails, "mails/progress")
    chart = page.get_by_role("img", name="How far from proven")
    chart.get_by_text("stop at ε = 0.01").wait_for()
    chart.get_by_text("pulls", exact=True).wait_for()
    shown(page).get_by_label("over").select_option("time")
    chart.get_by_text("time", exact=True).wait_for()
    shown(page).get_by_label("Show").select_option("evidence against the closest rival")
    chart.get_by_text("ruled out at δ = 0.05").wait_for()
    shown(page).get_by_text("Table", exact=True).click()
    shown(page).locator("tbody tr").nth(5).wait_for()


def test_what_happened_is_shown(mails, visit):
    page = visit(mails, "mails/activity")
    for name in ("Pulls by day", "Pulls by arm", "Voided trials by arm", "Workers"):
        page.get_by_role("img", name=name, exact=True).wait_for()
    sees(page, "table.workers tr", "gpu-1")
    sees(page, "table.workers tr", "gpu-2")
    status = mails.get("/api/experiments/mails")
    sees(page, "figure", f"{status['pulls']} rewards since")
    sees(page, "figure", f"{status['voided']} trials will have no reward")


def test_hovering_shows_values(mails, visit):
    page = visit(mails, "mails/arms")
    chart = page.get_by_role("img", name="What arms pay")
    chart.hover(position={"x": 400, "y": 25})
    chart.get_by_text(re.compile("pulls?, p-value")).wait_for()


def test_charts_are_saved_in_three_forms(mails, visit):
    page = visit(mails, "mails/arms", accept_downloads=True)
    page.get_by_role("img", name="What arms pay").wait_for()
    saved = {}
    for form in ("PNG", "SVG", "CSV"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save What arms pay as {form}").click()
        assert download.value.suggested_filename == f"mails-arms.{form.lower()}"
        saved[form] = download.value.path().read_bytes()
    assert saved["PNG"].startswith(b"\x89PNG") and len(saved["PNG"]) > 5_000
    assert b"What arms pay" in saved["SVG"] and b"var(--" not in saved["SVG"]
    lines = saved["CSV"].decode().splitlines()
    assert lines[0].startswith("Arm,Pulls,Average") and len(lines) == 5


def test_spreadsheets_take_no_name_for_a_formula(server, visit):
    server.create("formula", EYE, names=["=1+1", "@b", 'a "c", d'], noise=0.3)
    server.play("formula", MEANS, pulls=8)
    page = visit(server, "formula/arms", accept_downloads=True)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save What arms pay as CSV").click()
    text = download.value.path().read_text()
    assert "\n'=1+1," in text and "\n'@b," in text and '\n"a ""c"", d",' in text


def test_corrections_and_retired_arms_are_said(server, visit):
    server.create("changed", EYE, names=NAMES, noise=0.3, epsilon=0.01)
    server.play("changed", MEANS, pulls=12, noise=0.2)
    page = visit(server, "changed/log")
    told = [e for e in server.get("/api/experiments/changed/events")["events"] if "reward" in e]
    reason = {"reason": "typing error"}
    server.post("/changed/correct", {"what": told[0]["seq"], "reward": -0.5, **reason})
    sees(page, ".facts", "corrections")
    sees(page, "table.log", f"The reward of event {told[0]['seq']} is −0.5: typing error")
    server.post("/changed/retire", {"arm": 0, "reason": "sold out"})
    sees(page, "table.log", "was retired: sold out")
    sees(page, ".facts", "1 retired")
    open_tab(page, "Certificate")
    sees(page, "[role=tabpanel]:visible", "It does not speak of retired arms")
    open_tab(page, "Arms")
    sees(page, "table.arms", "retired")


def test_the_page_moves_with_rewards_until_the_certificate_appears(server, visit):
    server.create("moves", EYE, names=NAMES, noise=0.3, epsilon=0.05)
    page = visit(server, "moves")
    sees(page, "#connection", "Live")
    sees(page, ".verdict", "Too early to say")
    page.evaluate("window.same = true")
    server.play("moves", MEANS, pulls=6)
    sees(page, ".facts", "6")
    sees(page, ".verdict", "green leads")
    sees(page, "table.arms tr", "leader")
    assert not page.locator(".answer.good").count()
    assert server.play("moves", MEANS, pulls=500)
    sees(page, ".verdict", "green is the best, 95 % sure.")
    assert page.locator(".answer.good").count() == 1
    sees(page, "#announcer", "green is the best")
    assert page.title().startswith("✓")
    proof = server.get("/api/experiments/moves/certificate")
    page.get_by_role("button", name="Exact certificate").click()
    panel = shown(page)
    sees(page, "[role=tabpanel]:visible", proof["digest"])
    assert proof["statement"].split("\n")[0] in panel.inner_text()
    assert all(assumption in panel.inner_text() for assumption in proof["assumptions"])
    assert page.evaluate("window.same")  # it was never loaded again
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the log").click()
    assert len(saved.value.path().read_text().splitlines()) == proof["event"]


@pytest.fixture(scope="module")
def doubtful(server):
    """Settled, and then told rewards that are not as supposed."""
    server.create("doubtful", EYE, names=NAMES, noise=0.3, epsilon=0.05, explorer="lingape")
    assert server.play("doubtful", MEANS, pulls=500)
    for _ in range(100):
        server.post("/doubtful/add", {"arm": 0, "reward": 9.0})
    return server


def test_numbers_at_the_top_and_in_the_certificate_agree_or_say_why(doubtful, visit):
    status = doubtful.get("/api/experiments/doubtful")
    settled = status["settled_pulls"]
    assert status["pulls"] == settled + 100
    page = visit(doubtful, "doubtful/certificate")
    sees(page, ".facts", f"{status['pulls']} (settled at {settled})")
    sees(page, ".remarks", f"settled at reward {settled}")
    sees(page, "[role=tabpanel]:visible", f"It was settled at reward {settled}; the 100 that came")
    assert status["leader_name"] == "red"
    sees(page, ".verdict-more", "green")  # later rewards change no verdict


def test_doubts_about_the_model_are_shown_with_what_to_do(doubtful, visit):
    page = visit(doubtful, "doubtful")
    sees(page, ".verdict", "The data contradict what the answer assumes")
    sees(page, "#rests.bad", "vary")
    assert not page.title().startswith("✓")
    assert page.locator(".answer.good").count() == 0
    page.locator("#rests").get_by_role("button", name="Model check").click()
    assert page.get_by_role("heading", name="What to do").is_visible()
    sees(page, "[role=tabpanel]:visible", "any averages fit")  # one feature per arm


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
    page = visit(lossy, "lossy/check")
    status = lossy.get("/api/experiments/lossy")
    assert status["answer_name"] == "red" and status["voided"] > 20
    sees(page, "#rests.bad", "Tickets of red are voided more often than those of other arms")
    sees(page, ".advice", "the worst reward for each such ticket")
    assert "features" not in page.locator(".advice").inner_text()
    sees(page, ".findings", "comes by chance in fewer than 1 of 10,000 cases")
    assert page.locator(".answer.good").count() == 0


def test_observed_is_drawn_against_fitted(crowd, visit):
    page = visit(crowd, "crowd/check")
    check = crowd.get("/api/experiments/crowd")["check"]
    page.get_by_role("img", name="Observed against fitted").wait_for()
    shown(page).get_by_text("Table", exact=True).click()
    first = page.locator("[role=tabpanel]:visible tbody tr").first.inner_text()
    assert check["arms"][0]["name"] in first


def test_overdue_tickets_are_told_from_pending_ones(server, visit):
    server.create("late", EYE, names=NAMES, noise=0.3)
    server.post("/late/ask", {"n": 2, "ttl": "1d"})
    server.post("/late/ask", {"n": 3, "ttl": 1})
    page = visit(server, "late")
    facts = page.locator(".facts > div")
    facts.filter(has_text="waiting").filter(has_text="2").wait_for()
    facts.filter(has_text="overdue").filter(has_text="3").wait_for()  # without an event


def test_names_are_text_whatever_is_in_them(server, visit):
    names = [HOSTILE, f"{HOSTILE} 2", "x" * 190]
    about = {"question": HOSTILE, "notes": HOSTILE, "owner": HOSTILE}
    problem = {"arms": EYE, "names": names, "noise": 0.3, "epsilon": 0.05}
    server.post("", {"name": "hostile", "problem": problem, **about})
    server.play("hostile", MEANS, pulls=8, worker=HOSTILE)
    (ticket,) = server.post("/hostile/ask", {})["tickets"]
    server.post("/hostile/void", {"ticket": ticket["id"], "reason": HOSTILE})
    page = visit(server, "hostile", trouble=True, accept_downloads=True)
    for tab in ("Arms", "Progress", "Activity", "Model check", "Certificate", "Log"):
        open_tab(page, tab)
    sees(page, "table.log", HOSTILE)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as a report").click()
    page.goto(f"{server.url}/#/")
    sees(page, "table.list", "<img src=x")
    page.goto(f"{server.url}/#/{quote(HOSTILE, safe='')}")
    page.locator(".error").wait_for()
    assert page.evaluate("document.body.dataset.hacked") is None
    assert page.locator("main img, main script").count() == 0
    report = saved.value.path().rename(saved.value.path().with_suffix(".html"))
    page.goto(report.as_uri())
    page.wait_for_selector("body[data-ready]")
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.evaluate("document.body.dataset.hacked") is None
    assert page.locator("main img, main script").count() == 0


@pytest.fixture(scope="module")
def crowd(server):
    """Fifty arms with long names."""
    names, arms, means = browsing.prompts()
    rng = np.random.default_rng(0)
    more = [[1.0, *row] for row in rng.uniform(-1, 0, (35, 5)).tolist()]
    names += [f"a variant that somebody described at some length, number {i}" for i in range(35)]
    server.create("crowd", arms + more, names=names, noise=0.5, epsilon=0.05)
    means = np.concatenate([means, np.array(more) @ [0.3, 0.2, 0.12, 0.05, 0.02, 0.1]])
    server.play("crowd", means, pulls=70, noise=0.4)
    server.post("/crowd/ask", {"n": 3})
    return server


@pytest.fixture(scope="module")
def throng(server):
    """Ten thousand arms."""
    rng = np.random.default_rng(0)
    arms = rng.uniform(-1, 1, (10_000, 8)).round(3)
    server.create("throng", arms.tolist(), noise=0.5, epsilon=0.05)
    server.play("throng", arms @ np.full(8, 0.1), pulls=40, noise=0.4)
    return server


def test_ten_thousand_arms_can_be_searched(throng, visit):
    page = visit(throng, "throng")
    page.get_by_role("img", name="What arms pay").wait_for()
    sees(page, "figure", "9,980 more are in the table of all arms")
    fold = page.locator("#all-arms")
    assert fold.get_attribute("open") is None
    fold.get_by_text("All 10,000 arms").click()
    sees(page, "#all-arms [role=status]", "1 to 50 of 10,000")
    fold.get_by_role("button", name="Next").click()
    sees(page, "#all-arms [role=status]", "51 to 100 of 10,000")
    page.get_by_label("Search").fill("9876")
    sees(page, "#all-arms [role=status]", "1 to 1 of 1")
    sees(page, "table.arms tbody tr", "9876")
    assert page.locator("*").count() < 3_000  # elements


def test_the_log_is_read_page_by_page(crowd, visit):
    page = visit(crowd, "crowd/log")
    rows = page.locator("table.log tbody tr")
    events = crowd.get("/api/experiments/crowd")["event"]
    sees(page, "table.log", str(events))
    seen = []
    while True:
        seen += map(int, page.locator("table.log tbody td:first-child").all_inner_texts())
        assert rows.count() <= 25
        if seen[-1] == 1:
            break
        before = rows.first.locator("td").first.inner_text()
        page.get_by_role("button", name="Older").click()
        page.wait_for_function(
            "(before) => document.querySelector('table.log tbody td').textContent !== before",
            arg=before,
        )
    assert sorted(set(seen), reverse=True) == list(range(events, 0, -1))
    sees(page, "table.log", "Began with 50 arms, explored by race.")


@pytest.mark.parametrize("width", [320, 360, 800])
def test_nothing_scrolls_sideways(mails, crowd, visit, width):
    page = visit(crowd, viewport={"width": width, "height": 740})
    page.locator("table.list a").first.wait_for()
    assert sideways(page) == 0
    for name, tabs in (("crowd", ("arms", "check", "log")), ("mails", TABS)):
        for tab in tabs:
            page.goto(f"{crowd.url}/#/{name}/{tab}")
            page.locator(f"#panel-{tab}").wait_for()
            page.locator(f"#panel-{tab} :is(svg.chart, table, .claim)").first.wait_for()
            for table in page.locator(f"#panel-{tab}").get_by_text("Table", exact=True).all():
                table.click()
            assert sideways(page) == 0, (name, tab)


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


LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "viewport": {"width": 360, "height": 740}},
}


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_and_contrast_is_enough(mails, doubtful, visit, look):
    page = visit(mails, **LOOKS[look])
    page.locator("table.list a").first.wait_for()
    assert not flaws(page)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 200) == (look == "dark")
    for name, tabs in (("mails", TABS), ("doubtful", ("check",))):
        for tab in tabs:
            page.goto(f"{mails.url}/#/{name}/{tab}")
            page.locator(f"#panel-{tab} :is(svg.chart, table, .claim, .findings)").first.wait_for()
            page.evaluate(
                "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
            )
            assert not flaws(page), (name, tab)
            contrasts = page.evaluate(CONTRASTS)
            # WCAG AA: 4.5 for text, 3 for pictures, of which the colours of legends are samples.
            low = [one for one in contrasts if one[0] < (3 if one[1] == "■" else 4.5)]
            assert not low, (name, tab)


def test_the_keyboard_reaches_everything(crowd, visit):
    page = visit(crowd)
    page.get_by_role("link", name="crowd").wait_for()
    focused = "document.activeElement.textContent"
    reached = []
    while "crowd" not in reached:
        page.keyboard.press("Tab")
        reached.append(page.evaluate(focused))
        assert len(reached) < 60
    assert reached[:2] == ["Skip to content", "lingape"]
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="crowd", level=1).wait_for()
    page.get_by_role("img", name="What arms pay").wait_for()
    assert page.evaluate("document.activeElement.id") == "main"
    reached = []
    while "tab-arms" not in reached:
        page.keyboard.press("Tab")
        reached.append(page.evaluate(f"document.activeElement.id || {focused}"))
        assert len(reached) < 40
    assert {"All experiments", "Exact certificate", "What is assumed"} <= set(reached)
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-progress"  # there are no factors
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.id") == "tab-log"
    sees(page, "table.log", "asked")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-arms"
    page.go_back()
    page.get_by_role("heading", name="Experiments").wait_for()


def test_screen_readers_find_their_way(crowd, visit):
    page = visit(crowd, "crowd")
    chart = page.get_by_role("img", name="What arms pay")
    chart.wait_for()
    for role in ("banner", "main", "navigation", "tablist"):
        assert page.get_by_role(role).count() == 1
    assert page.locator("h1").count() == 1
    assert "The numbers are in the table below." in chart.get_attribute("aria-description")
    for table in page.locator("table").all():
        assert table.locator("caption").text_content()
    said = page.locator("#announcer").inner_text()
    crowd.post("/crowd/add", {"arm": 20, "reward": 0.0})
    sees(page, ".facts", str(crowd.get("/api/experiments/crowd")["pulls"]))
    assert page.locator("#announcer").inner_text() == said  # not at every reward


def test_without_a_stream_it_asks_again(server, visit):
    server.create("polled", EYE, names=NAMES, noise=0.3)
    page = visit(server, trouble=True)
    page.route("**/stream", lambda route: route.abort())
    page.goto(f"{server.url}/#/polled")
    sees(page, "#connection", "Updated every few seconds")
    server.play("polled", MEANS, pulls=8)
    sees(page, ".verdict", "green leads")


def test_a_part_that_cannot_be_loaded_says_so_and_is_tried_again(mails, visit):
    page = visit(mails, trouble=True)
    broken = {"status": 500, "json": {"error": "The server has a bug."}}
    page.route("**/activity", lambda route: route.fulfill(**broken))
    page.goto(f"{mails.url}/#/mails/activity")
    sees(page, "[role=tabpanel]:visible .error", "could not be brought up to date: The server has")
    sees(page, ".verdict", "leads")
    sees(page, "#connection", "Live")
    page.unroute("**/activity")
    page.get_by_role("img", name="Workers").wait_for()
    sees(page, "[role=tabpanel]:visible", "asked for trials")
    assert page.locator("[role=tabpanel]:visible .error").text_content() == ""


def test_a_status_that_cannot_be_loaded_is_a_lost_connection(server, visit):
    server.create("mute", EYE, names=NAMES, noise=0.3)
    page = visit(server, "mute", trouble=True)
    sees(page, "#connection", "Live")
    page.route("**/api/experiments/mute", lambda route: route.fulfill(status=500, json={}))
    server.play("mute", MEANS, pulls=8)
    sees(page, "#connection", "Connection lost, trying again. What you see is of")
    page.unroute("**/api/experiments/mute")
    sees(page, ".verdict", "green leads")
    sees(page, "#connection", "Live")


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
    sees(page, ".verdict", "green leads")
    assert any(streams)


def test_it_comes_back_when_the_server_does(tmp_path, visit):
    with browsing.serving(f"sqlite:///{tmp_path}/run.db") as server:
        server.create("back", EYE, names=NAMES, noise=0.3)
        page = visit(server, "back", trouble=True)
        sees(page, "#connection", "Live")
        page.mouse.wheel(0, 10_000)  # the bar on top stays where it is seen
        server.stop()
        sees(page, "#connection", "Connection lost")
        sees(page, "#connection", "What you see is of")
        assert page.locator("#connection").bounding_box()["y"] < 40
        server.start()
        server.play("back", MEANS, pulls=8)
        sees(page, "#connection", "Live")
        sees(page, ".verdict", "green leads")


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


def test_the_list_can_be_searched_sorted_and_filtered(tmp_path, visit):
    with browsing.serving(f"sqlite:///{tmp_path}/run.db") as server:
        problem = {"arms": EYE, "names": NAMES, "noise": 0.3, "epsilon": 0.05}
        for name, question, owner in (
            ("ads", "Which colour sells?", "Ana"),
            ("boxes", "Which box arrives whole?", "Ben"),
            ("cups", None, None),
        ):
            server.post(
                "", {"name": name, "problem": problem, "question": question, "owner": owner}
            )
        assert server.play("ads", MEANS, pulls=500)
        server.play("boxes", MEANS, pulls=10, noise=0.2)
        page = visit(server, trouble=True)
        links = page.locator("table.list a")
        sees(page, "table.list", "Which colour sells?")
        ads = page.get_by_role("row", name="Which colour sells?")
        for text in ("settled", "green", "100\xa0%", "done"):
            ads.get_by_text(text).first.wait_for()
        boxes = page.get_by_role("row", name="Which box arrives whole?")
        boxes.get_by_text("10 in all").wait_for()
        assert page.get_by_role("progressbar").count() >= 2
        page.get_by_label("Search").fill("ben BOX")
        assert links.all_inner_texts() == ["Which box arrives whole?"]
        page.get_by_label("Search").fill("")
        page.get_by_label("Show").select_option("settled")
        assert links.all_inner_texts() == ["Which colour sells?"]
        page.get_by_label("Show").select_option("all but archived")
        page.get_by_label("Sort by").select_option("name")
        assert [link.get_attribute("href") for link in links.all()] == [
            "#/ads",
            "#/boxes",
            "#/cups",
        ]
        page.get_by_role("button", name="Archive: cups").click()
        sees(page, "#main", "2 experiments of 3 shown.")
        assert server.get("/api/experiments/cups/events")["events"][-1]["event"] == "archived"
        page.get_by_label("Show").select_option("archived")
        page.get_by_role("link", name="cups").click()
        page.get_by_role("button", name="Put back on the list").click()
        page.get_by_role("button", name="Archive", exact=True).wait_for()


def test_archiving_needs_the_token_for_writing(tmp_path, visit):
    tokens = {"read_token": "only-for-reading", "write_token": "for-everything"}
    with browsing.serving(f"sqlite:///{tmp_path}/run.db", **tokens) as server:
        server.create("kept", EYE, names=NAMES, noise=0.3)
        page = visit(server, "kept", trouble=True)
        page.get_by_label("Token for reading").fill(tokens["read_token"])
        page.get_by_role("button", name="Open").click()
        page.get_by_role("button", name="Archive", exact=True).click()
        sees(page, ".end-of-page [role=status]", "token")
        assert not server.get("/api/experiments/kept")["archived"]


def test_a_report_is_one_file_with_everything(mails, visit, tmp_path):
    page = visit(mails, "mails", accept_downloads=True)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as a report").click()
    saved.value.save_as(tmp_path / "report.html")
    licences = (PAGE / "vendor/LICENSES.txt").read_text("utf-8")
    assert licences in (tmp_path / "report.html").read_text("utf-8")
    status = mails.get("/api/experiments/mails")
    for look in LOOKS.values():
        page = visit(mails, **look)
        asked = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto((tmp_path / "report.html").as_uri())
        page.wait_for_selector("body[data-ready]")
        assert len(asked) == 1  # the file itself
        text = page.locator("main").inner_text()
        for part in (
            "Which mail brings people back?",
            *status["verdict"],
            *status["certificate"]["assumptions"],
            "lingape live verify mails.jsonl",
        ):
            assert part in text
        assert re.search("[0-9a-f]{64}", text)
        assert page.locator("svg.chart").count() >= 7
        assert not flaws(page)
        assert sideways(page) == 0
    page.emulate_media(media="print", color_scheme="dark")  # paper is white all the same
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    assert not page.get_by_role("button", name="PNG").first.is_visible()


# A stream that says 50 times for each look that something changed, and looks without a pause.
HURRY = """(base) => {
  const [ask, wait] = [window.fetch, window.setTimeout];
  window.setTimeout = (act, time, ...rest) => wait(act, time <= 500 ? 0 : time, ...rest);
  window.looks = 0;
  const encoder = new TextEncoder();
  let line = null;
  const said = encoder.encode("event: status\\ndata: {}\\n\\n".repeat(50));
  window.fetch = async (path, how) => {
    if (path.endsWith("/stream")) {
      const body = new ReadableStream({ start: (controller) => { line = controller; } });
      wait(() => line.enqueue(said), 0);
      return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    }
    if (!path.endsWith("/busy")) return ask(path, how);
    window.looks += 1;
    wait(() => line?.enqueue(said), 0);
    const { event, pulls } = base;
    const now = { ...base, event: event + window.looks, pulls: pulls + window.looks };
    return new Response(JSON.stringify(now), { headers: { "Content-Type": "application/json" } });
  };
}"""


@pytest.mark.parametrize("tab", ["arms", "progress"])
def test_ten_thousand_updates_of_a_stream_take_no_more_memory(server, visit, tab):
    if "busy" not in [one["name"] for one in server.get("/api/experiments")["experiments"]]:
        server.create("busy", EYE, names=NAMES, noise=0.3)
        server.play("busy", MEANS, pulls=8, noise=0.2)
    page = visit(server)
    page.evaluate(HURRY, server.get("/api/experiments/busy"))
    page.evaluate("(tab) => { location.hash = `#/busy/${tab}`; }", tab)
    devtools = page.context.new_cdp_session(page)

    def used(looks):
        """Wait for so many looks; return the memory and the elements that are in use then."""
        page.wait_for_function("(looks) => window.looks >= looks", arg=looks)
        devtools.send("HeapProfiler.collectGarbage")
        found = {
            one["name"]: one["value"] for one in devtools.send("Performance.getMetrics")["metrics"]
        }
        return found["JSHeapUsedSize"], found["Nodes"]

    devtools.send("Performance.enable")
    heap, nodes = used(50)
    later_heap, later_nodes = used(250)  # 10,000 updates later
    assert later_heap < heap + 2_000_000, (heap, later_heap)
    assert later_nodes < nodes + 2_000, (nodes, later_nodes)


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
        sees(page, ".verdict", "green leads")
        sees(page, "#connection", "Live")
        page.reload()
        sees(page, ".verdict", "green leads")


def test_what_is_not_there_is_said(server, visit):
    page = visit(server, "nowhere", trouble=True)
    sees(page, ".error", "nowhere")
    page.get_by_role("link", name="All experiments").click()
    page.get_by_role("heading", name="Experiments").wait_for()


def test_the_files_call_nobody_and_write_no_html():
    for file in (Path(__file__).parents[2] / "src/lingape/live/dashboard").glob("*.*"):
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
