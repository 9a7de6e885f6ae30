# SPDX-License-Identifier: MIT
"""What MkDocs calls while it builds: each public name in a listing becomes a link to where it is explained."""

import json
import os
import re
from pathlib import Path

NAMES = {}


def on_config(config):
    NAMES.update(json.loads((Path(config["docs_dir"]).parent / "names.json").read_text()))
    return config


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
    return "".join(p if i % 2 else re.sub(r"(<code>)(fy_\w+)", in_words, p) for i, p in enumerate(pieces))


def on_post_page(output, **_):
    return output.replace('data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"')
