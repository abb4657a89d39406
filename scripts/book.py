"""The site of `make docs`.

    book.py prepare FOLDER   puts what mdBook needs into FOLDER
    book.py check FOLDER     checks every link of the pages in FOLDER, and exits with 1 if one leads nowhere

The pages keep the places that they have in the project, so that their links to each other need no change. Text files that they link to come
along. Links to what a site cannot show (a folder, a page of a crate) become their text.
"""

import os
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
PICTURE = re.compile(r'<img src="([^"]+)"')
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def prepare(folder):
    source = folder / "src"
    source.mkdir(parents=True)
    for name in ("book.toml", "site.css"):
        shutil.copy(ROOT / "docs" / name, folder)
    summary = (ROOT / "docs/SUMMARY.md").read_text()
    pages = [os.path.normpath("docs/" + target) for _, _, target in LINK.findall(summary)]
    for page in pages:
        write(source / page, with_links(page, (ROOT / page).read_text(), set(pages), source))
    relative = LINK.sub(lambda found: f"[{found[2]}]({os.path.normpath('docs/' + found[3])})", summary)
    write(source / "SUMMARY.md", relative)


def with_links(page, text, pages, source):
    """The page's text; copies what its links and pictures lead to and is no page."""

    def change(found):
        mark, label, target = found.groups()
        path = target.split("#")[0]
        if not path or re.match(r"[a-z]+:", target):
            return found[0]
        place = os.path.normpath(os.path.join(os.path.dirname(page), path))
        if place in pages:
            return found[0]
        if (ROOT / place).is_dir() or place.endswith(".md"):
            return f"{label} (`{place}` in the sources)" if place not in label else label
        bring(place, source)
        return found[0]

    for picture in PICTURE.findall(text):
        bring(os.path.normpath(os.path.join(os.path.dirname(page), picture)), source)
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else LINK.sub(change, part) for part in parts)


def bring(place, source):
    (source / place).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / place, source / place)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


class Page(HTMLParser):
    """The places of a page that can be linked to, and what it links to."""

    def __init__(self, text):
        super().__init__()
        self.places, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def check(folder):
    folder = folder.resolve()
    pages = {path: Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}
    links, wrong = 0, []
    for path, page in pages.items():
        # 404.html is shown for any address, so its links begin at the site's root.
        for link in page.links if path.name != "404.html" else []:
            links += 1
            if not leads_somewhere(folder, path, link, pages):
                wrong.append(f"{path.relative_to(folder)}: {link} leads nowhere")
    print("\n".join(wrong + [f"docs: {len(pages)} pages, {links} links, {len(wrong)} of them wrong"]))
    return 1 if wrong or not links else 0


def leads_somewhere(folder, path, link, pages):
    parts = urlsplit(link)
    if parts.scheme:
        return parts.scheme in ("data", "mailto") or parts.scheme in ("http", "https") and "." in parts.netloc
    target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
    if not target.is_file() or not target.is_relative_to(folder):
        return False
    return not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].places


if __name__ == "__main__":
    what, where = sys.argv[1:]
    sys.exit({"prepare": prepare, "check": check}[what](Path(where)))
