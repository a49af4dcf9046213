"""What the guides show is what happens."""

import re

import pytest

from guides import COMING_FROM, GUIDES, PAGES, ROOT, check

OTHERS = ("README.md", "docs/live.md")  # with links to check
QUICK = ("ab-tests", "assays", "batches", "several-metrics", "what-can-go-wrong")


@pytest.mark.parametrize("name", QUICK)
def test_guides_print_what_they_say(name, tmp_path):
    check(GUIDES / f"{name}.md", tmp_path, slow=False)


@pytest.mark.parametrize("name", ["authors-code", "mabwiser", "optuna"])
def test_pages_for_users_of_other_tools_print_what_they_say(name, tmp_path):
    check(COMING_FROM / f"{name}.md", tmp_path, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_guides_print_what_they_say_also_where_it_takes_long(page, tmp_path):
    check(page, tmp_path, slow=True)


@pytest.mark.parametrize("page", [*PAGES, *map(ROOT.joinpath, OTHERS)], ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    """To files that exist, and to headings in them."""
    for target, _, heading in re.findall(r"\]\(([^)#:]*)(#([^)]*))?\)", page.read_text()):
        path = page.parent / target if target else page
        assert path.exists(), target
        if heading:
            titles = re.findall(r"^#+ (.*)$", path.read_text(), re.M)
            assert heading in map(anchor, titles), f"{target}#{heading}"


def anchor(title):
    """Return by what a heading is linked to."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
