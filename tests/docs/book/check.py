# SPDX-License-Identifier: MIT
"""Looks at the pages of the book in a real browser, from file:// as a reader without a server does.

usage: check.py SITE [CHROMIUM]     prints a line for each check, and ends with 1 where one has failed
"""

import re
import sys
import zlib
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

SITE = Path(sys.argv[1]).resolve()
CHROMIUM = sys.argv[2] if len(sys.argv) > 2 else "/usr/bin/chromium"
PAGES = sorted(p for p in SITE.rglob("*.html") if p.name != "404.html")  # 404.html is for servers
# Of the pages for exercises and of the reference, which are made by one pattern each, a third: others as soon as they change.
TEXT_PAGES = [p for p in PAGES if "source" not in p.relative_to(SITE).parts and
              (p.parent == SITE or zlib.crc32(p.read_bytes()) % 3 == 0)]
# One of each kind: a lesson, one with pictures, an exercise, a reference page, tables.
CLOSE_LOOK = ["index.html", "01_why_a_gpu.html", "exercises.html", "api/nn_nn.html", "exercise/05_2_training_step.html",
              "performance.html"]


failed = 0


def report(name, faults):
    global failed
    failed += bool(faults)
    if faults:
        for fault in faults[:25]:
            print(f"# {fault}")
        print(f"FAULTY {name} - {len(faults)} faults, the first: {faults[0]}")
    else:
        print(f"in order: {name}")


def links_and_anchors():
    """Every link of every page leads to a page that exists, and to an anchor that it has."""
    anchors, links = {}, []
    for page in PAGES:
        text = page.read_text()
        anchors[page] = set(re.findall(r'\bid="?([^"\s>]+)', text)) | set(re.findall(r'\bname="?([^"\s>]+)', text))
        for target in re.findall(r'<(?:a|link|script|img|source)\b[^>]*?\b(?:href|src|srcset)="?([^"\s>]+)', text):
            links.append((page, target))
    faults = []
    for page, target in links:
        if re.match(r"(https?|mailto|data|javascript):", target):
            continue
        path, anchor = urldefrag(urljoin(page.as_uri(), target))
        file = Path(unquote(path.removeprefix("file://")))
        if file.is_dir():
            file = file / "index.html"
        if not file.exists():
            faults.append(f"{page.relative_to(SITE)}: {target} is not there")
        elif anchor and file in anchors and unquote(anchor) not in anchors[file] and anchor not in ("only-light", "only-dark", "__toc"):
            faults.append(f"{page.relative_to(SITE)}: {target}: no such anchor")
    report(f"links and anchors of {len(PAGES)} pages lead somewhere", sorted(set(faults)))


def each_page(browser):
    """The pages without an error of a script, a request to another host, or sideways scrolling at 360 pixels."""
    wide, errors, requests = [], [], []
    context = browser.new_context(viewport={"width": 360, "height": 800})
    page = context.new_page()
    page.on("pageerror", lambda e: errors.append(f"{page.url}: {e}"))
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else requests.append(f"{page.url}: {r.url}"))
    for path in TEXT_PAGES:
        page.goto(path.as_uri(), wait_until="load")
        width = page.evaluate("document.scrollingElement.scrollWidth")
        if width > 360:
            wide.append(f"{path.relative_to(SITE)}: {width} pixels")
    report(f"{len(TEXT_PAGES)} pages fit into 360 pixels", wide)
    report("no script fails", errors)
    report("nothing is asked of another host", requests)
    context.close()


def listings(browser):
    """At 1280 pixels no listing or output of a lesson is cut off at the right, and no line of 120 columns is wrapped."""
    faults = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    for path in sorted(SITE.glob("[0-9][0-9]_*.html")):
        page.goto(path.as_uri(), wait_until="load")
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        cut = page.evaluate("[...document.querySelectorAll('pre > code')].filter(c => c.scrollWidth > c.clientWidth + 1).map(c => c.innerText.slice(0, 60))")
        faults += [f"{path.name}: {text!r}" for text in cut]
    columns = page.evaluate("""() => {
      const code = document.querySelector('pre > code'), style = getComputedStyle(code), ink = document.createElement('span')
      ink.textContent = '0'.repeat(120), ink.style.whiteSpace = 'pre', code.append(ink)
      const width = ink.getBoundingClientRect().width
      return [width, code.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)]
    }""")
    faults += [f"120 columns take {columns[0]} pixels of {columns[1]}"] if columns[0] > columns[1] else []
    report("listings fit into a window of 1280 pixels", faults)
    page.close()


def explained_terms(browser):
    """The first use of a term in a lesson leads to its entry in the glossary, with the meaning as a tooltip."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((SITE / "23_shared_memory.html").as_uri())
    links = page.locator("a.term").evaluate_all("a => a.map(x => [x.textContent, x.title, x.getAttribute('href')])")
    texts = [text.lower() for text, _, _ in links]
    faults = [f"{text}: no meaning" for text, meaning, _ in links if len(meaning) < 10]
    faults += [] if "bank conflict" in " ".join(texts) else ["bank conflict is not explained"]
    faults += [f"{t} is explained twice" for t in set(texts) if texts.count(t) > 1]
    report("terms are explained where they are first used", faults)
    page.close()


def players(browser):
    """Each figure of a lesson becomes a player, which goes to the last step of its record."""
    faults, played = [], 0
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("pageerror", lambda e: faults.append(f"{page.url}: {e}"))
    for path in sorted(SITE.glob("[0-9][0-9]_*.html")):
        text = path.read_text()
        if 'class="ferry-step"' not in text and "class=ferry-step" not in text:
            continue
        page.goto(path.as_uri(), wait_until="load")
        for figure in page.locator("figure.ferry-step").all():
            name = figure.get_attribute("data-record")
            try:
                figure.get_by_role("button", name="Step through this kernel").click()
                figure.locator(".where").wait_for(timeout=15000)
                begin = figure.locator(".where").inner_text()
                figure.get_by_role("button", name="last step").click()
                step, last = re.fullmatch(r"step (\d+) / (\d+)", figure.locator(".where").inner_text()).groups()
                wanted = figure.get_attribute("data-step")
                if step != last or (wanted and not begin.startswith(f"step {wanted} /")):
                    faults.append(f"{path.name}: {name} begins at {begin} and ends at step {step} of {last}")
                played += 1
            except Exception as error:
                faults.append(f"{path.name}: {name}: {str(error).splitlines()[0]}")
    report(f"{played} players of lessons play", faults if played else ["no lesson has a player"])
    page.close()


def search(browser):
    """Search works without a server."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((SITE / "index.html").as_uri())
    faults = []
    for word, expected in (("pinned", "pipeline"), ("fy_cross_entropy", "ops")):
        page.goto((SITE / "index.html").as_uri())
        page.wait_for_timeout(500)
        page.keyboard.press("/")
        page.keyboard.type(word)
        try:
            page.wait_for_selector(".md-search-result__item a", timeout=15000)
            found = page.locator(".md-search-result__item a").evaluate_all("a => a.map(x => x.href)")
            if not any(expected in url for url in found):
                faults.append(f"{word}: found {len(found)} places, none in a page '{expected}'")
        except Exception as error:
            faults.append(f"{word}: {str(error).splitlines()[0]}")
    report("search finds 'pinned' and a function", faults)
    page.close()


def themes(browser):
    """Light and dark: the page follows the system, the switch changes it, and pictures come along."""
    faults = []
    for scheme, shown, hidden in (("light", "only-light", "only-dark"), ("dark", "only-dark", "only-light")):
        context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto((SITE / "01_why_a_gpu.html").as_uri())
        page.wait_for_timeout(300)
        for kind, visible in ((shown, True), (hidden, False)):
            pictures = page.locator(f'img[src$="#{kind}"]')
            if pictures.count() == 0 or pictures.first.is_visible() != visible:
                faults.append(f"{scheme}: the picture {kind} is {'not ' if visible else ''}shown")
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.locator("form[data-md-component=palette] label:visible").first.click()
        page.wait_for_timeout(200)
        if page.evaluate("getComputedStyle(document.body).backgroundColor") == before:
            faults.append(f"{scheme}: the switch changes nothing")
        context.close()
    report("light and dark, with their pictures", faults)


def accessibility(browser):
    """axe-core finds nothing serious."""
    faults = []
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
        page = context.new_page()
        for name in CLOSE_LOOK if scheme == "light" else CLOSE_LOOK[1:5:3]:
            page.goto((SITE / name).as_uri())
            page.wait_for_timeout(300)
            for v in Axe().run(page).response["violations"]:
                if v["impact"] in ("serious", "critical"):
                    for node in v["nodes"][:3]:
                        place = " ".join(node["html"].split())[:150]
                        why = " ".join(node.get("failureSummary", "").split())[:150]
                        faults.append(f"{name} ({scheme}): {v['id']} ({len(v['nodes'])}): {place} {why}")
        context.close()
    report("axe-core finds nothing serious", faults)


links_and_anchors()
with sync_playwright() as driver:
    chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
    each_page(chromium)
    listings(chromium)
    explained_terms(chromium)
    players(chromium)
    search(chromium)
    themes(chromium)
    accessibility(chromium)
    chromium.close()
sys.exit(failed > 0)
