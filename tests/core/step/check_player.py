# SPDX-License-Identifier: MIT
"""Looks at the player of ./ferry step in a real browser, from file://, with records written by hand (records.py).

usage: check_player.py CHROMIUM [RECORD.json ...]     prints a line of TAP for each check, and ends with 1 where one has failed
"""

import json
import sys
import tempfile
from pathlib import Path

import records
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

STEP = Path("core/step")
FOLDER = Path(tempfile.mkdtemp())
SCRIPT = "".join((STEP / f).read_text() for f in ("recording.js", "lanes.js", "player.js"))
STYLE = (STEP / "player.css").read_text()
BY_HAND = {f.__name__: f() for f in (records.race, records.deadlock, records.bounds, records.warp, records.calls)}
OTHERS = {Path(name).stem: json.loads(Path(name).read_text()) for name in sys.argv[2:]}
# What is seen of a step: texts and classes of what is not hidden.
SEEN = """[...document.querySelectorAll('.title, .about, .what, .line, .lanes tr:not([hidden] *, [hidden])')].map(e =>
  e.className + '|' + [e, ...e.querySelectorAll('*')].map(x => x.className?.trim?.() + ':' + (x.children.length ? '' : x.textContent)).join(' '))"""

count = failed = 0


def check(name, *faults):
    global count, failed
    faults = [f for f in faults if f]
    count += 1
    failed += bool(faults)
    print(f"{'not ok' if faults else 'ok'} {count} - {name}{' - ' + '; '.join(str(f) for f in faults[:5]) if faults else ''}", flush=True)


def expect(what, found, *parts):
    """Each part is in the text that was found, or, where it begins with !, is not."""
    return [f"{what}: {part!r} in {' '.join(found.split())!r}" for part in parts if (part.lstrip("!") in found) == part.startswith("!")]


def write(name, record):
    text = (STEP / "player.html").read_text().replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT)
    path = FOLDER / f"{name}.html"
    path.write_text(text.replace("/*RECORD*/", json.dumps(record, separators=(",", ":")).replace("<", "\\u003c")))
    return path.as_uri()


PAGES = {name: write(name, record) for name, record in (BY_HAND | OTHERS).items()}


class Tab:
    """A page that keeps what went wrong in it."""

    def __init__(self, browser, width=1280, height=900, **how):
        self.context = browser.new_context(viewport={"width": width, "height": height}, **how)
        self.page = self.context.new_page()
        self.wrong = []
        self.page.on("pageerror", lambda e: self.wrong.append(f"{self.page.url[-20:]}: {e}"))
        self.page.on("console", lambda m: self.wrong.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else self.wrong.append(f"asks for {r.url}"))

    def open(self, name, at=""):
        self.page.goto("about:blank")
        self.page.goto(PAGES[name] + at)
        return self

    def step(self):
        return self.page.evaluate("document.querySelector('main').ferry.step")

    def go(self, n):
        self.page.evaluate(f"document.querySelector('main').ferry.go({n})")

    def says(self, where=".what"):
        return " ".join(self.page.inner_text(where).split())

    def row(self, name):
        """The head and the cells of a row of the table."""
        rows = self.page.evaluate("[...document.querySelectorAll('.lanes tr:not([hidden] *, [hidden])')].map(r => [...r.children].map(c => c.textContent))")
        return next((r for r in rows if r[0].startswith(name)), [""])


def texts(browser):
    tab = Tab(browser)
    tab.open("race")
    check("a record opens at its first finding, with both sides of a race", expect("race", tab.says(), "data race within a block: thread 63 writes",
          "Step 3, thread 0 (warp 0, lane 0)", "out[t] = piece[63 - t];", "Step 7, thread 63", "writes 63.5 (piece[63])", "If thread 63 comes first, thread 0 may read 63.5"),
          tab.step() != 7 and f"step {tab.step()}", tab.page.locator("td.bad").count() < 64 and "lanes are not marked")
    tab.page.get_by_role("button", name="go to the other side").click()
    check("the other side of a race is one click away", tab.step() != 3 and tab.step(), expect("side", tab.says(), "Warp 0, line 6: 32 of 32 lanes"))
    check("text of a record is not markup", expect("source", tab.says(".source"), '<!-- <script> </script><img src="http://example.invalid/x"> & "quoted"'),
          tab.page.locator("main img").count() and "an element was made")
    check("the title says that it is one order of many", expect("title", tab.says("header"), "hasty<<<(2), (64)>>>", "block (1)", "64 threads", "one order of many"))
    tab.go(4)
    check("variables are shown while lanes return", tab.row("t")[1:3] != ["0", "1"] and tab.row("t"), expect("e", tab.says(), "32 lanes return"))
    tab.open("deadlock")
    tags = tab.page.locator(".tag").all_inner_texts()
    check("a deadlock marks both lines with the threads that wait there", tags != ["threads 0-39 wait", "threads 40-63 wait"] and tags,
          expect("end", tab.says(), "24 threads wait at line 7, 40 at line 4"), expect("title", tab.says("header"), "The block ends in a deadlock."))
    tab.open("bounds")
    check("an access outside of its array", expect("bounds", tab.says(), "writes out[lane] (global, 3 sectors, ideal 3; lane 20 outside of the array)", "21 sectors, ideal 3"),
          tab.page.locator("rect.outside").count() != 4 and "hatched words", tab.page.locator("rect.r").count() != 21 and "words of the strided load",
          expect("lanes", tab.says(), "Divergence: 21 lanes", "21 of 32 lanes; 11 elsewhere (line 3)"))
    tab.open("warp", "#2")
    brings, came = tab.row("brings"), tab.row("from lane")
    check("a shuffle of half a warp", brings[0] != "bringslane" and brings[0], came[0] != "from lanelane ^ 1" and came[0], came[1:4] != ["1", "0", "3"] and came[1:4],
          expect("x", tab.says(), "16 of 32 lanes"), tab.row("tile[1]") != [""] and "untouched rows are shown")
    tab.go(3)
    check("a vote has no arrows", tab.row("from lane") != [""] and "arrows", tab.row("brings")[5] != "1" and "brings", expect("who", tab.row("who")[0], "4294967280 (all)"),
          expect("meet", tab.says(), "Reconvergence: 32 lanes"))
    tab.go(4)
    check("bank conflicts", expect("column", tab.says(), "writes tile[lane][0] (shared, 32 wavefronts, ideal 1)"), tab.row("words in each bank")[1] != "32×" and "bank 0",
          tab.row("tile[31][0]")[1] != "32" and "the last row")
    tab.go(5)
    told = []
    for cell in (".access td >> nth=4", ".lanes tbody:nth-of-type(2) td >> nth=3", ".words td >> nth=0"):
        tab.page.hover(cell)
        told.append(tab.page.get_attribute(cell, "title"))
    check("cells tell what they are", told != ["thread 4 updates out[0]: 4, then 5", "x of thread 3 = 3, since step 2", "tile[0][0] = 1, since step 4"] and told)
    tab.go(6)
    check("an access of two words", tab.row("tile[0][0]")[1:5] != ["0", "1", "1", "1"] and tab.row("tile[0][0]"), tab.row("tile[1][0]")[1] != "16" and tab.row("tile[1][0]"),
          expect("wide", tab.says(), "2 wavefronts, ideal 2"))
    tab.open("calls", "#5")
    check("structs and arrays by their members", expect("z", tab.row("z.re")[0], "lane"), expect("n", tab.row("z.n")[0], "no value (all)"), expect("w", tab.row("window[0]")[0], "0 (all)"),
          tab.row("k")[0] != "k0 (all)" and tab.row("k"))
    tab.go(7)
    check("a call: its stack and its variables", expect("stack", tab.says(), "Call stack: outer, line 14 › inner, line 2", "twice = 2 * lane"),
          expect("line", tab.page.locator(".line.call").inner_text(), "z.re += inner(z.re);"), tab.row("outer: z.re") == [""] and "outer", tab.row("outer: k") != [""] and "k is out of scope")
    tab.go(9)
    check("behind a call", expect("rest", tab.says(), "the rest of the statement, after a call", "z.re = 3 * lane"), tab.row("twice") != [""] and "a variable of a call that has ended")
    tab.go(10)
    check("polling, and functions that are stepped over", expect("polling", tab.says(), "312 turns of polling", "odd is stepped over: it has inline assembly"))
    tab.go(14)
    check("lanes that have returned", expect("returned", tab.says(), "24 of 32 lanes; 8 have returned"))
    check("integers of 64 bits are whole", tab.page.evaluate("document.querySelector('main').ferry.r.local(9, 0, 3, 14).value") != str(2**64 - 97) and tab.row("big"))
    tab.go(15)
    check("a new call does not show an old one's variables, and the limit is said", tab.row("twice") != [""] and tab.row("twice"),
          expect("limit", tab.says(), "The record ends at its limit of 16 steps"), expect("title", tab.says("header"), "limit of 16 steps"))
    check("no errors, and no requests", *tab.wrong)
    tab.context.close()


def recorded(browser):
    """Records that ./ferry step has made of tests/core/inspect/step/cases.cu."""
    tab = Tab(browser)
    if "no_barrier" in OTHERS:
        tab.open("no_barrier")
        check("a recorded race, with both sides", expect("race", tab.says(), "data race within a block: piece[", "out[t] = piece[THREADS - 1 - t];", "In this order, thread"))
    if "half_way" in OTHERS:
        tab.open("half_way")
        tab.page.keyboard.press("End")
        check("a recorded deadlock marks both lines", tab.page.locator(".tag").all_inner_texts() != ["threads 0-31 wait", "threads 32-63 wait"] and "tags",
              tab.page.locator(".line.now").count() != 2 and "lines", expect("end", tab.says(), "The block ends here. divergent barrier: thread 0 waits here"))
    if "mixed" in OTHERS:
        tab.open("mixed")
        tab.page.keyboard.press("/")
        tab.page.keyboard.type("p")
        tab.page.keyboard.press("Enter")
        check("recorded structs, by their members", expect("x", tab.row("p.x")[0], "lane"), expect("y", tab.row("p.y")[0], "2 * lane"), tab.row("p.tags[1]")[2:4] != ["-1", "-2"] and tab.row("p.tags[1]"))
    if "shuffle" in OTHERS:
        tab.open("shuffle")
        tab.go(next(i for i, s in enumerate(OTHERS["shuffle"]["steps"]) if "met" in s))
        check("a recorded shuffle", expect("takes", tab.says(), "a warp function of 31 lanes", "each takes the value of lane 1 + lane"), tab.row("brings")[1:4] != ["0", "1", "4"] and tab.row("brings"), tab.row("from lane")[1:4] != ["1", "2", "3"] and tab.row("from lane"))
    check("no errors with recorded blocks", *tab.wrong)
    tab.context.close()


def keys(browser):
    tab = Tab(browser)
    page, faults = tab.page, []

    def press(key, step, after=None):
        if after is not None:
            tab.go(after)
        page.keyboard.press(key)
        if tab.step() != step:
            faults.append(f"{key}: step {tab.step()}, expected {step}")

    tab.open("race", "#1")
    for key, step, after in (("ArrowRight", 2, None), ("ArrowLeft", 1, None), ("Shift+ArrowRight", 2, 1), ("Shift+ArrowLeft", 3, 4), ("ArrowDown", 7, 2), ("ArrowUp", 2, None),
                             ("End", 9, None), ("Home", 0, None), ("f", 7, 0), ("f", 7, None), ("ArrowLeft", 0, 0), ("]", 0, 0)):
        press(key, step, after)
    check("keys step, and stay where there is nothing to go to", *faults, expect("note", tab.says(), "No barrier after step 0."))
    faults.clear()
    tab.open("deadlock", "#0")
    press("d", 7, 0)
    press("d", 7)
    tab.open("warp", "#0")
    press("d", 2)
    press("Shift+d", 2, 5)
    tab.open("calls", "#6")
    press("o", 7)
    press("o", 9, 8)
    press("u", 9, 6)
    check("d goes to the next divergence, o steps over calls and u out of one", *faults)
    faults.clear()
    tab.open("race", "#0")
    for text, key, step in (("t", "Enter", 1), ("t", "Enter", 6), ("t", "Shift+Enter", 1), ("t@40", "Enter", 6), ("piece[63]", "Enter", 7), ("piece[3]", "Shift+Enter", 2), ("6", "Enter", 3)):
        page.keyboard.press("/")
        page.keyboard.type(text)
        press(key, step)
        page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("nothing")
    page.keyboard.press("Enter")
    check("/ searches changes and lines", *faults, expect("note", tab.says(), 'no variable and no array named "nothing"'))
    faults.clear()
    page.keyboard.press("Escape")
    tab.go(0)
    page.locator(".line", has_text="out[t] = ").click()
    faults += [] if tab.step() == 3 else [f"click: {tab.step()}"]
    page.locator(".line", has_text="out[t] = ").click()
    faults += [] if tab.step() == 8 else [f"second click: {tab.step()}"]
    press("b", 3)
    tab.go(8)
    page.locator(".words td", has_text="32.5").first.click()
    faults += [] if tab.step() == 7 else [f"click on a value: {tab.step()}"]
    page.wait_for_timeout(300)
    faults += [] if page.url.endswith("#7") else [page.url]
    check("clicks run to a line and to the step that wrote a value; the address has the step", *faults)
    page.evaluate("window.ran = [], window.setInterval = (f, ms) => (ran.push(ms), 7)")
    tab.go(0)
    page.keyboard.press(" ")
    live = page.get_attribute(".what", "aria-live")
    page.emulate_media(reduced_motion="reduce")
    page.keyboard.press(" ")
    stopped = page.get_attribute(".what", "aria-live")
    page.keyboard.press(" ")
    ran = page.evaluate("ran.filter(ms => ms)")
    check("Space plays, slower with reduced motion, and the live region keeps quiet", ran != [150, 1000] and ran, (live, stopped) != ("off", "polite") and (live, stopped))
    check("no errors by keys", *tab.wrong)
    tab.context.close()


def both_ways(browser):
    """A step looks the same from whichever side it is reached."""
    tab, faults = Tab(browser), []
    for name in PAGES:
        tab.open(name, "#0")
        steps = min(tab.page.evaluate("document.querySelector('main').ferry.r.steps.length"), 120)
        forth = []
        for i in range(steps):
            tab.go(i)
            forth.append(tab.page.evaluate(SEEN))
        tab.page.keyboard.press("End")
        for i in range(steps - 1, -1, -1):
            tab.go(i)
            back = tab.page.evaluate(SEEN)
            if back != forth[i]:
                faults.append(f"{name} step {i}: {next((a, b) for a, b in zip(forth[i] + [''], back + ['']) if a != b)}")
                break
        if len({str(seen) for seen in forth}) < steps * 0.6:
            faults.append(f"{name}: steps look alike")
    check(f"{len(PAGES)} records look the same forwards and backwards", *faults, *tab.wrong)
    tab.context.close()


def looks(browser):
    """Sizes, themes and accessibility."""
    for width, height in ((390, 844), (640, 480), (1280, 900), (3840, 2160)):
        tab, faults = Tab(browser, width, height), []
        for name in PAGES:
            tab.open(name)
            wide = tab.page.evaluate("document.scrollingElement.scrollWidth")
            faults += [f"{name}: {wide} pixels"] if wide > width else []
            names = tab.page.evaluate("(() => { const l = document.querySelector('.lanes'); l.scrollLeft = 600; return document.querySelector('th[scope=row]').getBoundingClientRect().left - l.getBoundingClientRect().left })()")
            faults += [f"{name}: names of rows scroll away by {names}"] if abs(names) > 1 else []
        check(f"{width} pixels: nothing is wider, and names stay", *faults, *tab.wrong)
        tab.context.close()
    for scheme in ("light", "dark"):
        tab, faults, grounds = Tab(browser, color_scheme=scheme), [], set()
        for name in BY_HAND:
            tab.open(name, {"calls": "#7", "warp": "#2"}.get(name, ""))
            grounds.add(tab.page.evaluate("getComputedStyle(document.querySelector('main')).backgroundColor"))
            for v in Axe().run(tab.page).response["violations"]:
                for node in v["nodes"][:3]:
                    faults.append(f"{name}: {v['id']}: {node['html'][:120]} {' '.join(node.get('failureSummary', '').split())[:200]}")
        wanted = {"rgb(255, 255, 255)"} if scheme == "light" else {"rgb(20, 23, 27)"}
        check(f"{scheme}: its colors, and axe-core finds nothing", grounds != wanted and grounds, *faults)
        tab.context.close()


def in_the_book(browser):
    """A figure of a lesson: the still text, and the player on a click, whose keys the page does not get."""
    (FOLDER / "records").mkdir(exist_ok=True)
    (FOLDER / "player.js").write_text(SCRIPT)
    (FOLDER / "player.css").write_text(STYLE)
    for name in ("race", "bounds"):
        (FOLDER / "records" / f"{name}.js").write_text(f"ferryStep({json.dumps(name)}, {json.dumps(BY_HAND[name])})")
    page = "".join(f'<figure class="ferry-step" data-record="{n}"{more}><p>Still text of {n}.</p><figcaption>Caption of {n}</figcaption></figure>'
                   for n, more in (("race", ' data-step="2"'), ("bounds", ""), ("missing", "")))
    path = FOLDER / "lesson.html"
    path.write_text('<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Lesson</title><link rel="stylesheet" href="player.css"><body data-md-color-scheme="slate">'
                    f'<style>td, th, button {{ padding: 3em !important; color: red !important }}</style><script src="player.js" defer></script><h1>Lesson</h1>{page}</body></html>')
    plain = Tab(browser, java_script_enabled=False)
    plain.page.goto(path.as_uri())
    check("without JavaScript the still text remains", expect("plain", plain.page.inner_text("body"), "Still text of race.", "Caption of bounds", "!Step through"))
    plain.context.close()
    tab = Tab(browser, 900)
    tab.page.goto(path.as_uri())
    tab.page.evaluate("window.heard = [], addEventListener('keydown', e => heard.push(e.key))")
    first, second = tab.page.locator("figure").nth(0), tab.page.locator("figure").nth(1)
    first.get_by_role("button", name="Step through this kernel").click()
    first.locator(".where").wait_for()
    second.get_by_role("button", name="Step through this kernel").click()
    second.locator(".where").wait_for()
    before = first.locator(".where").inner_text()
    first.locator(".title").click()
    for key in ("ArrowRight", "f", "q"):
        tab.page.keyboard.press(key)
    third = tab.page.locator("figure").nth(2)
    third.get_by_role("button").click()
    third.get_by_text("could not be loaded").wait_for()
    check("a click makes a player of a figure", expect("start", before, "step 2 / 9"), expect("first", first.locator("header, .where").all_inner_texts()[1] + first.inner_text(), "step 7 / 9", "Caption of race", "!Still text"),
          expect("second", second.locator(".where").inner_text(), "step 3 / 4"), tab.page.evaluate("heard") != ["q"] and tab.page.evaluate("heard"), not tab.page.url.endswith("html") and tab.page.url,
          *[w for w in tab.wrong if "ERR_FILE_NOT_FOUND" not in w])
    ground = first.locator("div.ferry-step").evaluate("e => getComputedStyle(e).backgroundColor")
    padding = first.locator("td").first.evaluate("e => getComputedStyle(e).padding + getComputedStyle(e).color")
    check("a figure has the theme of the book, and none of its styles", ground != "rgb(20, 23, 27)" and ground, ("255, 0, 0" in padding or not padding.startswith("0px")) and padding)
    tab.context.close()


def refusals(browser):
    tab = Tab(browser)
    PAGES_BEFORE = dict(PAGES)
    PAGES["old"] = write("old", BY_HAND["race"] | {"format": "ferry-step 0"})
    PAGES["empty"] = write("empty", BY_HAND["race"] | {"steps": [], "findings": []})
    old, empty = tab.open("old").says("main"), tab.open("empty").says("main")
    check("another format and an empty record are refused with a reason", expect("old", old, '"ferry-step 1"', '"ferry-step 0"', "Record it again"), expect("empty", empty, "no steps"), *tab.wrong)
    PAGES.clear()
    PAGES.update(PAGES_BEFORE)
    tab.context.close()


def times(browser):
    """Measured, and not judged: a test must not depend on the machine."""
    record = records.large()
    url, tab = write("large", record), Tab(browser)
    tab.page.goto(url)
    opened = tab.page.evaluate("performance.getEntriesByType('navigation')[0].duration")
    inside = tab.context.new_cdp_session(tab.page)
    inside.send("Performance.enable", {"timeDomain": "threadTicks"})

    def step(n=60):
        """Milliseconds: script and layout by the clock (the median), and the processor's time for all that the page's thread does."""
        busy = lambda: next(m["value"] for m in inside.send("Performance.getMetrics")["metrics"] if m["name"] == "TaskDuration")
        begin = busy()
        clock = tab.page.evaluate("""async n => { const f = document.querySelector('main').ferry, out = []
          for (let i = 0; i < n; i++) {
            const a = performance.now(); f.go(5001 + 3 * i); document.body.offsetHeight; out.push(performance.now() - a)
            await new Promise(requestAnimationFrame)
          }
          return out.sort((a, b) => a - b)[n >> 1] }""", n)
        return f"{clock:.1f} ms of script and layout, {(busy() - begin) / n * 1000:.1f} ms of processor time with painting"

    some = step()
    tab.page.locator(".head input").check()
    whole = step()
    check("a record of 20,000 steps and 1,024 threads opens", *tab.wrong)
    print(f"# {len(json.dumps(record)) / 1e6:.1f} MB opened in {opened:.0f} ms; a step: {some}; with all 1,024 shared words: {whole}")
    print(f"# player: {len(SCRIPT)} bytes of script, {len(STYLE)} of style")
    tab.context.close()


with sync_playwright() as driver:
    chromium = driver.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox", "--disable-gpu"])
    for part in (texts, recorded, keys, both_ways, looks, in_the_book, refusals, times):
        part(chromium)
    chromium.close()
print(f"1..{count}")
sys.exit(failed > 0)
