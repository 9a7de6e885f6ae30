# SPDX-License-Identifier: MIT
"""Looks at the live book's pages in real browsers, with the real server.

usage: check_page.py CHROMIUM [FIREFOX]     prints a line of TAP for each check, and ends with 1 where one has failed
"""

import os
import sys
import time

from axe_playwright_python.sync_playwright import Axe
from browsers import Chromium, Firefox
from live_server import BUILD, PATIENCE, ROOT, Server, eventually, finish, result
from playwright.sync_api import sync_playwright

FIVE = ("20_1_saxpy", "20_2_grid_stride_loop", "22_1_column_sums", "26_1_histogram", "32_1_smooth")
SITE = os.path.join(BUILD, "book/site")
SERIOUS = ("serious", "critical")
OPEN = "document.querySelector('.live-editor:not([hidden]) .CodeMirror')?.CodeMirror"
READY = f"!!{OPEN}"
RACE = "[...document.querySelectorAll('.live-bar')].find(b => /race\\.cu/.test(b.textContent))"
HIDDEN_LOAD = "Failed to load resource"  # a file that is not there yet is asked for, and Chromium notes it


def solution(exercise):
    with open(f"{ROOT}/solutions/{exercise}.cu", encoding="utf-8") as file:
        return file.read()


def write(server, name, text):
    """As another editor saves it."""
    path = f"{server.work}/{name}"
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".new", path)


def read(server, name):
    with open(f"{server.work}/{name}", encoding="utf-8") as file:
        return file.read()


class Tab:
    """A page of Chromium that keeps what went wrong in it."""

    def __init__(self, browser, server, width=1280, height=900, **how):
        self.server, self.base = server, f"http://{server.host}/"
        self.context = browser.new_context(viewport={"width": width, "height": height}, **how)
        self.context.set_default_timeout(1000 * PATIENCE)
        self.context.add_cookies([{"name": f"ferry_{server.port}", "value": server.token, "url": self.base}])
        self.wrong = []
        self.page = self.new()
        self.reader = Chromium(self.page)
        self.look, self.wait = self.reader.look, self.reader.wait

    def new(self):
        page = self.context.new_page()
        page.on("pageerror", lambda e: self.wrong.append(f"{page.url[-30:]}: {e}"))
        page.on("console", lambda m: self.wrong.append(m.text) if m.type == "error" and HIDDEN_LOAD not in m.text else None)
        page.on("request", lambda r: None if r.url.startswith((self.base, "data:", "blob:")) else self.wrong.append(f"asks for {r.url}"))
        return page

    def open(self, path):
        self.page.goto(self.base + path)
        self.page.wait_for_selector(".live-bar, .live-front")
        return self

    def text(self):
        return self.look(OPEN + ".getValue()")

    def edit(self, text):
        """Replaces the text as typing does."""
        self.look(f"void {OPEN}.replaceRange({text!r}, {{line: 0, ch: 0}}, {{line: {OPEN}.lineCount(), ch: 0}})")

    def click(self, name, within=".live-bench, .live-bar"):
        self.page.locator(within).get_by_role("button", name=name, exact=True).first.click()

    def close(self):
        self.context.close()


# ---- five exercises, with the keyboard only ---------------------------------------------------------------------------------------------------


def by_keyboard(reader, server, exercise):
    """edit, run, inspect, check: the file on disk has an error that one key removes."""
    file = f"{exercise}.cu"
    write(server, file, "x" + solution(exercise))
    reader.open(f"http://{server.host}/exercise/{exercise}.html?token={server.token}")
    reader.wait(READY)
    reached = reader.tab_to("Skip to the editor")
    reader.press("Enter")
    reached = reached and reader.focused() == "Edit"
    reader.press("Enter")
    reader.wait("document.activeElement.closest('.CodeMirror') !== null")
    steps = []
    reader.press("Control+Enter")
    steps.append(reader.settled())
    notes = reader.look("document.querySelectorAll('.live-note.live-error').length")
    for key in ("Control+Home", "Delete", "Escape"):
        reader.press(key)
    for name in ("Run", "Inspect", "Check"):
        reached = reached and reader.tab_to(name, backwards=name == "Run")
        reader.press("Enter")
        steps.append(reader.settled())
        if name == "Inspect":
            counts = reader.look("document.querySelectorAll('.live-count').length")
    link = reader.look("document.querySelector('.live-next')?.textContent || ''")
    good = (reached and steps[0] == "It does not compile." and notes > 0 and steps[1].startswith("Passed") and steps[2].startswith("No findings") and counts > 0 and
            steps[3].startswith("Passed") and link.startswith("Next: ") and read(server, file) == solution(exercise))
    result(good, f"{reader.name}: {exercise} by keyboard: edit, run, inspect, check", f"{reached} {steps} {notes} errors {counts} counts {link}")


def begin(tab, server):
    tab.open("exercise/20_1_saxpy.html")
    before = tab.look(READY), tab.page.locator("[data-exercise]").is_visible(), os.path.exists(f"{server.work}/20_1_saxpy.cu")
    tab.click("Edit")
    tab.wait(READY)
    result(before == (False, True, False) and tab.text() == read(server, "20_1_saxpy.cu") and not tab.page.locator("[data-exercise]").is_visible(),
           "Edit makes the copy in work/, and the editor takes the listing's place", before)


# ---- an exercise ------------------------------------------------------------------------------------------------------------------------


def verdict(tab, server):
    with open(f"{ROOT}/tests/hidden/20_1_saxpy/wrong_down.cu", encoding="utf-8") as file:
        write(server, "20_1_saxpy.cu", file.read())
    tab.open("exercise/20_1_saxpy.html")
    tab.wait(READY)
    tab.click("Check")
    status = tab.reader.settled()
    told = tab.page.inner_text(".live-verdict")
    link = tab.look("document.querySelector('.live-verdict a[href*=\"grid-block-guard\"]')?.pathname")
    result("tests fail: y[" in status and "expected" in status and "input:" in told and "grid size rounded down" in told and link == "/20_the_first_kernel.html",
           "a verdict has the first wrong value, the input, the likely cause and the section to read", f"{status} {told[:300]} {link}")
    tab.click("Step through this test")
    tab.page.wait_for_selector("figure.ferry-step .ferry-app")
    result("step" in tab.page.inner_text("figure.ferry-step .where"), "the failed test plays in the stepper", tab.page.inner_text(".live-bench")[:300])
    tab.click("Hint")
    tab.wait("/1 of \\d/.test(document.querySelector('.live-text').textContent)")
    result("1 of" in tab.page.inner_text(".live-text"), "a hint is shown", tab.page.inner_text(".live-bench")[-300:])


def typing(tab, server):
    write(server, "20_1_saxpy.cu", "// empty\n")
    tab.open("exercise/20_1_saxpy.html")
    tab.wait(READY)
    tab.click("Edit")
    tab.wait("document.activeElement.closest('.CodeMirror') !== null")
    tab.page.keyboard.press("Control+End")
    tab.page.keyboard.type("int f(int x) { return x[0")
    typed = tab.text()
    shown = tab.look("document.querySelectorAll('.CodeMirror .cm-type, .CodeMirror .cm-keyword').length")
    result(typed == "// empty\nint f(int x) { return x[0]}" and shown >= 3, "typing closes brackets and colors keywords", f"{typed!r} {shown}")
    tab.page.reload()
    tab.wait(READY)
    result(tab.text() == typed and read(server, "20_1_saxpy.cu") == "// empty\n", "unsaved text survives a reload, and is not on disk", tab.text())
    tab.page.locator(".CodeMirror").click()
    tab.page.keyboard.press("Control+s")
    result(eventually(lambda: read(server, "20_1_saxpy.cu") == typed), "Ctrl+S writes the file that a terminal sees", read(server, "20_1_saxpy.cu"))
    for letter in "abcdef":
        tab.page.keyboard.type(letter)
        tab.page.keyboard.press("Control+s")
    saved = eventually(lambda: all(c in read(server, "20_1_saxpy.cu") for c in "abcdef") and read(server, "20_1_saxpy.cu") == tab.text())
    result(saved and tab.page.locator(".live-clash").count() == 0, "saving quickly is no conflict with itself", read(server, "20_1_saxpy.cu"))


def on_disk(tab, server):
    """The same file in another editor."""
    write(server, "20_1_saxpy.cu", "// from another editor\n")
    result(tab.wait(f"{OPEN}.getValue() === '// from another editor\\n'"), "a change on disk appears", tab.text())
    tab.edit("// mine\n")
    write(server, "20_1_saxpy.cu", "// theirs\n")
    tab.page.wait_for_selector(".live-clash")
    sides = tab.page.locator(".live-clash pre").all_inner_texts()
    result([s.strip() for s in sides] == ["// mine", "// theirs"] and read(server, "20_1_saxpy.cu") == "// theirs\n", "a conflict shows both versions and writes nothing", sides)
    tab.click("Check")
    result(tab.wait("/Choose a version/.test(document.querySelector('.live-status').textContent)"), "nothing runs before a choice", tab.reader.status())
    tab.click("Keep mine", ".live-clash")
    result(eventually(lambda: read(server, "20_1_saxpy.cu") == "// mine\n"), "mine can be kept", read(server, "20_1_saxpy.cu"))
    tab.page.locator(".live-other summary").click()
    tab.click("Put it into the editor", ".live-other")
    result(tab.text() == "// theirs\n", "and the other version is still there", tab.text())
    write(server, "20_1_saxpy.cu", "// theirs again\n")
    tab.page.wait_for_selector(".live-clash")
    tab.click("Take the one on disk", ".live-clash")
    result(tab.wait(f"{OPEN}.getValue() === '// theirs again\\n'") and "your version" in tab.page.inner_text(".live-other"), "the one on disk can be taken", tab.page.inner_text(".live-bench")[:200])
    tab.look("sessionStorage.clear()")


def course(tab, server):
    """Progress over the course, in every open page."""
    other = Tab(tab.context.browser, server)
    other.open("index.html")
    before = other.page.inner_text(".live-front")
    write(server, "20_3_two_dimensional_grid.cu", solution("20_3_two_dimensional_grid"))
    tab.open("exercise/20_3_two_dimensional_grid.html")
    tab.wait(READY)
    tab.click("Check")
    status = tab.reader.settled()
    passed = other.wait("/20\\.3 ✓/.test(document.querySelector('.live-front').innerText)")
    after = other.page.inner_text(".live-front")
    result(status.startswith("Passed") and passed and before != after and "Continue: " in after, "the first page shows what is passed, as soon as it is", f"{status} {after[:200]}")
    milestones = other.page.get_by_role("list", name="Milestones").inner_text()
    result("✓ First kernel (" in milestones and "○ First network on kernels of your own (open:" in milestones, "and the milestones, with what reaches them", milestones)
    other.open("20_the_first_kernel.html")
    result("(passed)" in other.look("document.querySelector('.md-content a[href*=\"20_3_two\"]').textContent"), "links to exercises say what is passed")
    result(not other.wrong, "no error and no other host there", other.wrong)
    other.close()


# ---- lessons -----------------------------------------------------------------------------------------------------------------------------


def listing(tab):
    tab.open("32_debugging_kernels.html")
    bar = tab.page.locator(".live-bar", has_text="kernels/broken/race.cu").first
    bar.get_by_role("button", name="Inspect").click()
    status = tab.reader.settled()
    notes = tab.page.locator(".live-note").all_inner_texts()
    result(status.startswith("2 findings") and any("data race within a block" in n for n in notes) and tab.look("document.querySelectorAll('.live-count').length") == 2,
           "findings and counts are at their lines", f"{status} {notes}")
    tab.page.locator(".live-note").get_by_role("button", name="Step to it").first.click()
    tab.page.wait_for_selector("figure.ferry-step .ferry-app")
    result("data race within a block" in tab.page.inner_text("figure.ferry-step .what"), "a finding leads to its step", tab.page.inner_text("figure.ferry-step .what")[:200])
    tab.edit("#include <stdio.h>\nint main(void) { puts(\"\\x1b[31mHi <b>\"); return 3; }\n")
    bar.get_by_role("button", name="Run").click()
    status = tab.reader.settled()
    shown = tab.page.inner_text(".live-text")
    result("status 3" in status and "Hi <b>" in shown and "\x1b" not in shown, "a changed listing runs, and its output is text", f"{status} {shown}")
    tab.edit("#include <stdio.h>\n#include <unistd.h>\nint main(void) { puts(\"first\"); fflush(stdout); for (;;) sleep(1); }\n")
    bar.get_by_role("button", name="Run").click()
    early = tab.wait("/first/.test(document.querySelector('.live-text').textContent)")
    tab.click("Stop", ".live-bench")
    result(early and tab.reader.settled() == "Stopped.", "output comes while the program runs, and Stop ends it", tab.reader.status())
    tab.click("Original")
    result("neighbors" in tab.text(), "Original restores the program of the book", tab.text()[:80])
    tab.open("03_tensor_moves.html")
    names = tab.page.locator(".live-bar").first.get_by_role("button").all_inner_texts()
    tab.click("Run")
    status = tab.reader.settled()
    result(names == ["Edit", "Run"] and status == "The program ended with status 0.", "a lesson's program in C runs", f"{names} {status} {tab.page.inner_text('.live-text')[-200:]}")


def predictions(tab, server):
    tab.open("20_the_first_kernel.html")
    form = tab.page.locator(".live-predict").first
    form.get_by_label("blocks").fill("64")
    form.get_by_label("threads that do nothing").fill("2,700")
    form.get_by_role("button", name="Compare").click()
    told = form.inner_text()
    result("you said 64, it is 128: 2 times too small" in told and "you said 2,700, it is 2,768: 2.5 % too low" in told, "a prediction is compared with the numbers", told)
    kept = eventually(lambda: os.path.exists(f"{server.work}/predictions.json") and "2,700" in read(server, "predictions.json"))
    tab.open("20_the_first_kernel.html")
    tab.wait("/you said 64/.test(document.querySelector('.live-predict').textContent)")
    result(kept and "2.5 % too low" in form.inner_text() and form.get_by_label("blocks").input_value() == "64", "and remembered in work/predictions.json", form.inner_text())
    form.get_by_label("blocks").fill("many")
    form.get_by_role("button", name="Compare").click()
    result("Enter a number" in form.inner_text(), "what is no number is refused", form.inner_text())
    last = tab.page.locator(".live-predict").last
    last.get_by_label("your answer").fill("the same error")
    last.get_by_role("button", name="Compare").click()
    last.get_by_role("button", name="right", exact=True).click()
    pressed = tab.wait("document.querySelector('.live-predict [aria-pressed=\"true\"]')?.textContent")
    result(pressed == "right", "an answer in words is judged by the reader", pressed)


def measured(tab, server):
    """Predict boxes whose numbers are measured, with the keyboard, and the chart of the first page."""
    tab.open("17_cuda_graphs.html")
    form = tab.page.locator("form[aria-label='Question 17.1']")
    form.wait_for()
    tab.page.evaluate("document.querySelector(\"form[aria-label='Question 17.1'] input\").focus()")
    tab.page.keyboard.type("many")
    tab.page.keyboard.press("Enter")
    tab.wait("/is not a number/.test(document.querySelector('[aria-label=\"Question 17.1\"]').textContent)")
    closed = not tab.look("document.querySelector('[data-questions=\"17.1\"]').open") and "34" not in form.inner_text()
    result(closed and tab.look("document.activeElement.closest('form')?.getAttribute('aria-label')") == "Question 17.1", "what is no number is refused, and nothing is shown", form.inner_text())
    form.get_by_label("your guess").fill("17")
    tab.page.keyboard.press("Enter")
    tab.wait("/You said 17, it is 34 launches: 2 times too low/.test(document.querySelector('[aria-label=\"Question 17.1\"]').textContent)")
    result(tab.look("document.querySelector('[data-questions=\"17.1\"]').open") and "17.1 try=1" in read(server, ".predictions"), "after the guess, the number and the answer", form.inner_text())
    form.get_by_label("your guess").fill("34")
    form.get_by_role("button", name="Guess again").click()
    tab.wait("/Try 2: You said 34/.test(document.querySelector('[aria-label=\"Question 17.1\"]').textContent)")
    tab.open("17_cuda_graphs.html")
    form.wait_for()
    result("You said 17, it is 34 launches" in form.inner_text() and "Try 2: You said 34" in form.inner_text(), "both are still there after a reload", form.inner_text())
    tab.open("07_pitfalls.html")
    first = tab.page.locator("form[aria-label='Question 7.1']")
    first.wait_for()
    result(first.get_by_text("sums_with_item calls fy_item").count() == 1 and tab.page.locator("form[aria-label='Question 7.2']").count() == 1, "a box with two questions asks both")
    for question, guess in (("7.1", "100"), ("7.2", "1")):
        closed = not tab.look("document.querySelector('[data-questions=\"7.1; 7.2\"]').open")
        tab.page.locator(f"form[aria-label='Question {question}']").get_by_label("your guess").fill(guess)
        tab.page.locator(f"form[aria-label='Question {question}']").get_by_label("your guess").press("Enter")
        right = tab.wait(f"/exactly right/.test(document.querySelector('[aria-label=\"Question {question}\"]').textContent)")
        result(right and closed, f"{question}: the box is closed before the guess")
    result(tab.look("document.querySelector('[data-questions=\"7.1; 7.2\"]').open"), "and opens after the second one: its answer has both numbers")
    tab.open("index.html")
    tab.page.locator(".live-calibration summary").first.click()
    chart = tab.page.get_by_role("img", name="Chart of guess divided by measured")
    result(chart.is_visible() and tab.page.locator(".live-chart circle").count() == 3, "the first page has a chart of the first guesses", tab.page.inner_text(".live-front")[-300:])
    tab.page.get_by_text("As a list").click()
    result("2 times too low" in tab.page.inner_text(".live-calibration ul"), "and a list of them", tab.page.inner_text(".live-calibration"))


# ---- how it looks ------------------------------------------------------------------------------------------------------------------------


def looks(browser, server):
    write(server, "20_1_saxpy.cu", "int;\n" + solution("20_1_saxpy").replace("(n + ", "(n * 0 + "))
    for scheme in ("light", "dark"):
        for width in (1280, 390):
            tab = Tab(browser, server, width, color_scheme=scheme)
            faults = []
            for path in ("index.html", "exercise/20_1_saxpy.html", "22_global_memory.html", "32_debugging_kernels.html"):
                tab.open(path)
                if path == "index.html":
                    tab.page.locator(".live-calibration summary").first.click()
                    tab.page.get_by_text("As a list").click()
                if path.startswith("exercise"):
                    tab.wait(READY)
                    tab.click("Check")
                    tab.reader.settled()
                elif path.startswith("32"):
                    tab.page.locator(".live-bar", has_text="kernels/broken/race.cu").first.get_by_role("button", name="Inspect").click()
                    tab.reader.settled()
                tab.wait("!document.querySelector('.live-bench[aria-busy=\"true\"]')")
                scroll = tab.look("document.documentElement.scrollWidth - innerWidth")
                if scroll > 0:
                    faults.append(f"{path}: {scroll} pixels too wide")
                for v in Axe().run(tab.page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}).response["violations"]:
                    if v["impact"] in SERIOUS:
                        faults.append(f"{path}: {v['id']}: {v['nodes'][0]['html'][:120]} {v['nodes'][0].get('failureSummary', '')[:160]}")
            result(not faults and not tab.wrong, f"{scheme}, {width} pixels: fits, and axe-core finds nothing serious", f"{faults} {tab.wrong}")
            tab.close()


def without_codemirror(browser, server):
    tab = Tab(browser, server)
    tab.context.route("**/live/codemirror/**", lambda route: route.fulfill(status=404, body=""))
    write(server, "20_1_saxpy.cu", "int;;\n" + solution("20_1_saxpy"))
    tab.open("exercise/20_1_saxpy.html")
    area = tab.page.locator("textarea.live-plain")
    area.fill("x" + solution("20_1_saxpy"))
    area.press("Control+Enter")
    wrong, notes = tab.reader.settled(), tab.page.inner_text(".live-notes")
    area.fill(solution("20_1_saxpy"))
    area.press("Control+Enter")
    tab.wait("/^Passed/.test(document.querySelector('.live-status').textContent)")
    result(wrong == "It does not compile." and "line 1" in notes and tab.reader.status().startswith("Passed"), "without CodeMirror, a plain text field does", f"{wrong} {notes} {tab.reader.status()}")
    tab.wrong = [w for w in tab.wrong if "MIME type" not in w]
    result(not tab.wrong, "and nothing is wrong there", tab.wrong)
    tab.close()


def many(browser, server):
    """Twenty pages of one browser, and four runs at once; and how long the first output of a small kernel takes."""
    tab = Tab(browser, server)
    tab.open("32_debugging_kernels.html")
    times = []
    for _ in range(3):
        begin = time.monotonic()
        tab.look(f"void {RACE}.querySelector('[data-do=run]').click()")
        tab.wait("/of 256 are wrong/.test(document.querySelector('.live-bench .live-text').textContent)")
        times.append(time.monotonic() - begin)
        tab.reader.settled()
    print(f"# from the click to the first output of a small kernel: {min(times):.2f} s, at best of {len(times)}")
    pages = [tab.page] + [tab.new() for _ in range(19)]
    begin = time.monotonic()
    for page in pages:
        page.goto(tab.base + "32_debugging_kernels.html")
        page.wait_for_selector(".live-bar")
    print(f"# 20 pages open: {time.monotonic() - begin:.1f} s, one after the other")
    source = "#include <stdio.h>\\n#include <unistd.h>\\nint main(void) { for (int i = 0; i < 3; i++) { puts(\\\"tick\\\"); fflush(stdout); sleep(1); } }\\n"
    for page in pages[:4]:
        page.evaluate(f"sessionStorage.setItem('ferry chapters/kernels/broken/race.cu', JSON.stringify({{text: \"{source}\"}}))")
        page.reload()
        page.wait_for_selector(".live-bar")
    for page in pages[:4]:
        page.evaluate(f"void {RACE}.querySelector('[data-do=run]').click()")
    ends = [Chromium(page).settled() for page in pages[:4]]
    result(ends == ["The program ended with status 0."] * 4, "20 pages are open, and 4 runs end as they should", ends)
    write(server, "20_1_saxpy.cu", "// a\n")
    pages[7].goto(tab.base + "exercise/20_1_saxpy.html")
    Chromium(pages[7]).wait(READY)
    write(server, "20_1_saxpy.cu", "// b\n")
    seen = Chromium(pages[7]).wait(f"{OPEN}.getValue() === '// b\\n'")
    result(seen, "the eighth page hears of a change, too")
    result(not tab.wrong, "without an error", tab.wrong)
    tab.close()


def in_chromium(program, server):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = Tab(browser, server)
        begin(tab, server)
        for exercise in FIVE:
            by_keyboard(tab.reader, server, exercise)
        verdict(tab, server)
        typing(tab, server)
        on_disk(tab, server)
        course(tab, server)
        listing(tab)
        predictions(tab, server)
        measured(tab, server)
        result(not tab.wrong, "no error of a script, nothing against the policy, no other host", tab.wrong)
        tab.close()
        without_codemirror(browser, server)
        looks(browser, server)
        many(browser, server)
        browser.close()


def in_firefox(program, server):
    if not program:
        return result(True, "Firefox # SKIP it is not installed (apt-get install firefox-esr)")
    reader = Firefox(program)
    try:
        for exercise in FIVE:
            by_keyboard(reader, server, exercise)
    finally:
        reader.close()


def main():
    server = Server(site=SITE)
    try:
        in_chromium(sys.argv[1], server)
        in_firefox(sys.argv[2] if len(sys.argv) > 2 else "", server)
    finally:
        server.end()
    finish()


main()
