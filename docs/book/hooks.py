# SPDX-License-Identifier: MIT
"""What MkDocs calls while it builds: public names in listings, and the first use of a term in a lesson, link to their explanations."""

import functools
import html as markup
import json
import os
import re
from pathlib import Path

NAMES = {}
TERMS = {}
PLAYER = '<link rel="stylesheet" href="step/player.css"><script src="step/player.js" defer></script>'  # lessons are in the top folder
LESSON = re.compile(r"\d\d_\w+\.html$")


def on_config(config):
    NAMES.update(json.loads((Path(config["docs_dir"]).parent / "names.json").read_text()))
    TERMS.update(json.loads((Path(config["docs_dir"]).parent / "terms.json").read_text()))
    return config


@functools.cache
def pattern_of_terms():
    """Matches a headword of the glossary, or its plural: the longest one. With it, each headword by its lower case."""
    headwords = sorted((t for t in TERMS if len(t) > 4 and "(" not in t), key=len, reverse=True)
    return re.compile(r"\b(" + "|".join(map(re.escape, headwords)) + r")(s?)\b", re.I), {t.lower(): t for t in headwords}


def with_terms(html):
    """The first use of each term of the glossary, outside of links, headings, listings and tables, links there; its title is the meaning."""
    term, exact = pattern_of_terms()
    seen = set()

    def link(match):
        name = exact[match.group(1).lower()]
        if name in seen:
            return match.group(0)
        seen.add(name)
        anchor, meaning = TERMS[name]
        return f'<a class="term" href="glossary.html#{anchor}" title="{markup.escape(meaning)}">{match.group(0)}</a>'

    parts = re.split(r"(<(a|h[1-6]|pre|code|table|summary|svg)\b.*?</\2>|<[^>]*>)", html, flags=re.S)
    # Three parts at a time: text, what is left as it is, and the name of its element.
    return "".join(term.sub(link, p) if i % 3 == 0 else p if i % 3 == 1 else "" for i, p in enumerate(parts))


def on_page_content(html, page, **_):
    here = page.file.dest_uri
    if here.startswith("source/"):
        return html

    def link(name):
        target, anchor = NAMES[name].split("#")
        target = target.removesuffix(".md") + ".html"
        if target == here:
            return f'<a class="name" href="#{anchor}">{name}</a>'
        return f'<a class="name" href="{os.path.relpath(target, os.path.dirname(here) or ".")}#{anchor}">{name}</a>'

    def in_listing(match):
        return f'<span class="{match.group(1)}">{link(match.group(2))}</span>' if match.group(2) in NAMES else match.group(0)

    def in_words(match):
        return match.group(1) + (link(match.group(2)) if match.group(2) in NAMES else match.group(2))

    html = html.replace("<table>", '<table tabindex="0">')  # those that scroll must be reached by keyboard
    html = re.sub(r'<span class="(n\w?)">((?:fy|FY|Fy)\w+)</span>', in_listing, html)
    # Words in text, but not those that are links or headings already.
    pieces = re.split(r"(<a\b.*?</a>|<h[1-6]\b.*?</h[1-6]>|<pre\b.*?</pre>)", html, flags=re.S)
    html = "".join(p if i % 2 else re.sub(r"(<code>)(fy_\w+)", in_words, p) for i, p in enumerate(pieces))
    html = with_terms(html) if LESSON.match(here) else html
    return html + PLAYER if '<figure class="ferry-step"' in html else html


def on_post_page(output, **_):
    return output.replace('data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"')
