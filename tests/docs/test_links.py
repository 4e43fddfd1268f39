"""No link of the documents leads nowhere: in the markdown files, whose anchors are GitHub's, and in the site that scripts/docs makes of
them, which also takes nothing from other machines."""

import html.parser
import pathlib
import re
import subprocess
import urllib.parse

import pytest

from blocks import DOCUMENTS, ROOT

PAGES = sorted({*DOCUMENTS, ROOT / "CHANGELOG.md", ROOT / "src/README.md", *(ROOT / "bench").rglob("*.md"),
                *(ROOT / "contrib").rglob("*.md")})
SITE = ROOT / "build/site"


def prose_of(page):
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)


def anchors_of(page, cache={}):
    """GitHub's: letters, digits, hyphens and underscores of the heading, in lower case, with hyphens for spaces."""
    if page not in cache:
        found = {}
        for heading in re.findall(r"^#{1,6} (.*)$", prose_of(page), re.M):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
            slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
            found[slug] = found.get(slug, -1) + 1
        cache[page] = set(found) | {f"{slug}-{number}" for slug, count in found.items() for number in range(1, count + 1)}
    return cache[page]


def trouble_with(page, link):
    """Returns why a link of a markdown file leads nowhere, or None."""
    path, _, anchor = link.partition("#")
    target = (page.parent / urllib.parse.unquote(path)).resolve() if path else page
    if not target.exists():
        return "no such file"
    if anchor and target.suffix == ".md" and anchor not in anchors_of(target):
        return "no such heading"
    return None


def test_links_of_the_markdown_files():
    bad, seen = [], 0
    for page in PAGES:
        text = re.sub(r"`[^`\n]*`", "", prose_of(page))
        for link in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|srcset|href)="([^"]+)"', text):
            if re.match(r"[a-z]+:", link):
                continue
            seen += 1
            if trouble := trouble_with(page, link):
                bad.append(f"{page.relative_to(ROOT)}: {link}: {trouble}")
    assert seen > 200 and not bad, "\n".join(bad)


# The site

class Html(html.parser.HTMLParser):
    ASSETS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "srcset"}

    def __init__(self, file):
        super().__init__()
        self.links, self.assets, self.ids = [], [], set()
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.update(filter(None, (values.get("id"), values.get("name") if tag == "a" else None)))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if asset := values.get(self.ASSETS.get(tag)):
            self.assets.append(asset)


@pytest.fixture(scope="module")
def site():
    subprocess.run([ROOT / "scripts/docs"], check=True)
    return {file: Html(file) for file in SITE.rglob("*.html") if file.name != "404.html"}


def test_links_of_the_site(site):
    assert len(site) > 30
    bad = []
    for file, page in site.items():
        for link in page.links + page.assets:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or link == "#":
                continue
            target = (file.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else file
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                bad.append(f"{file.relative_to(SITE)}: {link}: no such file")
            elif parts.fragment and target in site and urllib.parse.unquote(parts.fragment) not in site[target].ids:
                bad.append(f"{file.relative_to(SITE)}: {link}: no such heading")
    assert not bad, "\n".join(bad)


def test_the_site_needs_no_other_machine(site):
    bad = [f"{file.relative_to(SITE)}: {asset}" for file, page in site.items() for asset in page.assets
           if urllib.parse.urlsplit(asset).netloc]
    for file in SITE.rglob("*.css"):
        bad += [f"{file.relative_to(SITE)}: {url}" for url in
                re.findall(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")]+)", file.read_text())]
    assert not bad, "\n".join(bad)


def test_every_document_is_in_the_navigation(site):
    nav = (ROOT / "mkdocs.yml").read_text()
    missing = [page for page in (ROOT / "docs").rglob("*.md") if f"- {page.relative_to(ROOT)}\n" not in nav + "\n"]
    assert not missing, "add them to `nav` in mkdocs.yml"
    assert [word for word in re.findall(r"^  - (\w+):$", nav, re.M)] == [
        "Start", "Use", "Operate", "Reference", "Inside", "Decisions"]
    for page in re.findall(r"^      - (\S+)$", nav, re.M):
        built = SITE / pathlib.Path(re.sub(r"README\.md$", "index.html", page)).with_suffix(".html")
        assert built in site, page
