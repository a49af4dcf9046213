"""Check the built site: its links, its words, and that pages work offline and on a phone.

    python docs/check_site.py docs/_build/html

Links are followed in the files, where pictures need a text, and no page may show how Python
represents what has no name. Then each page is opened in Debian's chromium from the disk, as
wide as a phone: scripts must not fail, nothing may be fetched from elsewhere, formulas have to be
set, nothing may stick out to the right, and the search has to find something.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

PHONE = {"width": 390, "height": 844}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src"}
MARGIN = 2  # pixels, for rounding
NAMELESS = re.compile(r" at 0x|<function|<factory>")  # what follows differs from build to build


def links(page: Path, soup: BeautifulSoup) -> Iterator[tuple[str, bool]]:
    """Yield the links of a page, and whether the page cannot do without what is there."""
    for tag, attribute in LOADED.items():
        for found in soup.find_all(tag, **{attribute: True}):
            rel = found.get("rel") or []
            yield found[attribute], "canonical" not in rel and "prev" not in rel
    for found in soup.find_all("a", href=True):
        yield found["href"], False


def parsed(site: Path) -> dict[Path, BeautifulSoup]:
    return {
        page: BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
        for page in sorted(site.rglob("*.html"))
    }


def wrong_words(site: Path, soups: dict[Path, BeautifulSoup]) -> list[str]:
    """Return what is wrong with the text of pages and of pictures, in words."""
    wrong = []
    for page, soup in soups.items():
        where = page.relative_to(site)
        if where.parts[0] == "_modules":
            continue  # source code
        found = NAMELESS.search(soup.get_text())
        if found:
            wrong.append(f"{where} shows {found[0]!r}, which says nothing to readers")
        for picture in soup.find_all("img"):
            if picture.get("alt", picture["src"]).endswith((".png", ".svg")):
                wrong.append(f"{where} does not say what {picture['src']} shows")
    return wrong


def broken_links(site: Path, soups: dict[Path, BeautifulSoup]) -> list[str]:
    """Return what is wrong with links, in words."""
    anchors = {
        page: {tag.get("id") or tag.get("name") for tag in soup.find_all(True)}
        for page, soup in soups.items()
    }
    wrong = []
    for page, soup in soups.items():
        where = page.relative_to(site)
        for link, needed in links(page, soup):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if needed and parts.scheme != "data":
                    wrong.append(f"{where} loads {link}, which is not on the site")
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.exists():
                wrong.append(f"{where} links to {link}, which does not exist")
            elif target in anchors and unquote(parts.fragment) not in {"", *anchors[target]}:
                wrong.append(f"{where} links to {link}, which has no such anchor")
    return sorted(set(wrong))


def faults_in_a_browser(site: Path, chromium: str) -> list[str]:
    """Return what goes wrong when pages are opened offline on a phone, in words."""
    from playwright.sync_api import sync_playwright

    wrong: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport=PHONE)
        page.on("pageerror", lambda error: wrong.append(f"{where}: {error}"))
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "data:", "blob:"))
                or wrong.append(f"{where} asks for {request.url}")
            ),
        )
        for path in sorted(site.rglob("*.html")):
            where = str(path.relative_to(site))
            if where.startswith("_modules"):
                continue
            page.goto(path.as_uri())
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > PHONE["width"] + MARGIN:
                wrong.append(f"{where} is {width} pixels wide on a phone")
            if page.locator(".katex-error").count():
                wrong.append(f"{where} has formulas that KaTeX does not understand")
            if page.locator(".math").count() > page.locator(".math .katex").count():
                wrong.append(f"{where} has formulas that are not set")
        where = "search.html"
        page.goto((site / "search.html").as_uri() + "?q=certificate")
        page.wait_for_selector("#search-results ul.search li a")
        browser.close()
    return wrong


def main() -> None:
    site = Path(sys.argv[1]).resolve()
    soups = parsed(site)
    wrong = wrong_words(site, soups) + broken_links(site, soups)
    chromium = shutil.which("chromium")
    if chromium:
        wrong += faults_in_a_browser(site, chromium)
    elif os.environ.get("CI"):
        wrong.append("There is no chromium to open pages in: apt-get install chromium.")
    else:
        print("Not opened in a browser: that needs Debian's package chromium.")
    print("\n".join(wrong) or f"{len(soups)} pages: links and pages work.")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
