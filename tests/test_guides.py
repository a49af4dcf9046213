"""What pages of the site show is what happens."""

import re

import pytest

from guides import PAGES, ROOT, check
from systems import posix, same_figures

OTHERS = ("README.md", "docs/live.md")  # with links to check
QUICK = {
    *("ab-tests", "assays", "batches", "several-metrics", "what-can-go-wrong"),
    *("authors-code", "mabwiser", "optuna"),
    *("start", "trials", "simulations"),
}


@posix("bash")
@same_figures
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem in QUICK], ids=lambda page: page.stem
)
def test_pages_print_what_they_say(page, tmp_path):
    check(page, tmp_path, slow=False)


@posix("bash")
@same_figures
@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_print_what_they_say_also_where_it_takes_long(page, tmp_path):
    check(page, tmp_path, slow=True)


@pytest.mark.parametrize("page", [*PAGES, *map(ROOT.joinpath, OTHERS)], ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    """To files that exist, and to headings in them."""
    for target, _, heading in re.findall(r"\]\(([^)#:]*)(#([^)]*))?\)", page.read_text("utf-8")):
        path = page.parent / target if target else page
        assert path.exists(), target
        if heading:
            titles = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.M)
            assert heading in map(anchor, titles), f"{target}#{heading}"


def anchor(title):
    """Return by what a heading is linked to."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
