"""The summary of `flow test` as GitHub's own Markdown parser reads it: whatever files are called and models write, nothing of it is markup, a link or a mention."""

import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import cmarkgfm
from cmarkgfm.cmark import Options
from project import call, write

FLOW = Path(sys.argv[1]).resolve()
# What could end a fence, a cell, a fold or a comment, and what hosts make links and mentions of.
TEXT = "```\n````` text\n~~~\n</details></summary><img src=https://evil.example/i.png><script>evil()</script>\n@team #1 evil@example.com www.evil.example " \
    "[evil](https://evil.example) ![evil](https://evil.example) | a \\| `b \\` c`` | $evil$ :evil:\n\n# evil\n- [ ] evil\n<!--\n&lt;b&gt; \u202eevil\n    indented\n"
SENDS = """flow: 1
name: greeting
channels: [plain]
steps: [{ id: s, set: "TEXT" }, { id: t, send: stdout, of: steps.s.output }]
outputs: { greeting: "{{ steps.s.output }}" }
tests: [{ id: ana, golden: true }]
"""
NAMES = ["@team | www.evil.example `x", "a\\|b` [evil](x.example) <b>", "``` &amp; evil@example.com"]


class Seen(HTMLParser):
    """The tags of a page, and its texts outside of code."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.code = set(), "", 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.code += tag == "code"
        assert {name for name, _ in attributes} <= {"lang"}, (tag, attributes)

    def handle_endtag(self, tag):
        self.code -= tag == "code"

    def handle_data(self, data):
        if not self.code:
            self.texts += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")


def rendered(markdown):
    return cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE)


def main():
    for text, tag in (("www.evil.example", "a"), ("evil@example.com", "a"), ("<img src=x>", "img"), ("| a |\n|---|\n| ![a](b) |", "img")):
        assert f"<{tag} " in rendered(text), f"the parser makes nothing of {text}, so it proves nothing"
    with tempfile.TemporaryDirectory() as home:
        home = Path(home)
        write(home, "flow.toml", "")
        write(home, "channels/plain.yaml", "flow: 1\nchannel: plain\nbody: text\n")
        value = TEXT.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\u202e", "\\u202e")
        for name in NAMES:
            write(home, f"pipelines/{name}.yaml", SENDS.replace("TEXT", value))
            write(home, f"pipelines/goldens/{name}/ana/plain.txt", "old\n")
        write(home, "broken @team.test.yaml", "flow: 1\ntest: [\n@team: www.evil.example\n")
        markdown = call(home, FLOW, "test", "--quiet", "--format", "markdown", exit=1)
    assert markdown.count("**differs**") == len(NAMES) and "evil()" in markdown and "broken @team" in markdown, markdown
    seen = Seen(rendered(markdown))
    assert seen.tags <= {"h2", "h3", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "code", "pre", "details", "summary"}, seen.tags
    assert "evil" not in seen.texts and "@" not in seen.texts and "www" not in seen.texts, seen.texts
    assert seen.texts.count("old (-) and new (+)") == len(NAMES) and "\u202e" not in markdown, seen.texts
    print("the summary: what GitHub's parser makes of hostile texts and names is code and nothing else")


main()
