"""The page in a browser: silent, harmless, readable on a phone, in the dark, on paper and without scripts."""

import re
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

KINDS = ["validated", "void", "inconclusive", "empty", "not_numbers", "hostile", "long"]
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

AXE = Path(__file__).parent.parent / "data" / "axe" / "axe.min.js"

# Contrast of every text node with what is painted behind it, as WCAG 2 counts it.
CONTRAST = """
() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => numbers(colour).slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (let e = node; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor, n = numbers(c);
      if (n.length < 4 || n[3] > 0) return c;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || e.closest("script, style, [hidden]")) continue;
    const inside = e.closest("svg") ? getComputedStyle(e).fill : getComputedStyle(e).color;
    if (!inside.startsWith("rgb(")) continue;
    const [a, b] = [light(inside), light(behind(e.closest("svg")?.parentElement ?? e))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), walker.currentNode.data.trim().slice(0, 40), inside]);
  }
  return [found.length, found.filter((f) => f[0] < 4.5)];
}
"""


@pytest.fixture(scope="module")
def browser():
    """One browser for this file; playwright's event loop would be in the way of other files' asyncio."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
    if path is None:
        pytest.skip("no chromium on PATH")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def files(rendered, compared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for kind, page in (rendered | {"comparison": compared}).items():
        (folder / f"{kind}.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture
def visit(browser, files):
    contexts = []

    def opened(kind, width=1280, **options):
        context = browser.new_context(offline=True, viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.heard = []
        page.on("console", lambda message: page.heard.append(("console", message.text)))
        page.on("pageerror", lambda error: page.heard.append(("error", str(error))))
        page.on("dialog", lambda dialog: (page.heard.append(("dialog", dialog.message)), dialog.dismiss()))
        page.on("request", lambda request: page.heard.append(("request", request.url)))
        url = (files / f"{kind}.html").as_uri()
        page.goto(url)
        page.heard.remove(("request", url))
        return page

    yield opened
    for context in contexts:
        context.close()


def charts_drawn(page):
    return page.locator(".drawing svg").evaluate_all(
        "all => all.filter(s => s.getBoundingClientRect().height > 40 && s.querySelectorAll('path').length).length"
    )


def point_at_every_chart(page):
    """Let a pointer come to each chart, and wait until Vega has drawn all of them."""
    plots = page.locator(".plot")
    plots.evaluate_all("all => all.forEach(plot => plot.dispatchEvent(new PointerEvent('pointerenter')))")
    page.wait_for_function(f"document.querySelectorAll('.plot .vega-embed').length === {plots.count()}")


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_silent_and_upgrades_every_chart(visit, kind):
    page = visit(kind)
    point_at_every_chart(page)
    # Boxes, not sleeps: two frames are enough for a handler that a hostile string would have installed.
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.heard == []
    assert page.locator("main script, main img, main iframe, main b").count() == 0


@pytest.mark.parametrize("kind", ["hostile", "long"])
def test_hostile_text_stays_text(visit, kind, pages):
    page = visit(kind)
    point_at_every_chart(page)
    assert page.title() != "x"
    assert page.heard == []
    if kind == "hostile":
        shown = page.locator("h1").inner_text()
        assert "</script><script>document.title='x'</script>" in shown
        assert "{{7*7}}" in shown
        assert "\\x1b[31m" in shown
        assert page.title().startswith(
            page.evaluate("document.querySelector('.banner h2').textContent.toLowerCase()")[:9]
        )


@pytest.mark.parametrize("kind", KINDS)
def test_no_width_scrolls_the_page_sideways(visit, kind):
    page = visit(kind, java_script_enabled=False)
    for width in (320, 375, 800):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_charts_stand_without_scripts(visit):
    plain = visit("validated", java_script_enabled=False)
    for width in (375, 1280):
        plain.set_viewport_size({"width": width, "height": 900})
        assert charts_drawn(plain) == plain.locator("figure").count() > 7
        assert plain.locator("button:visible").count() == 0


def test_scripts_replace_charts_by_the_same_charts(visit):
    # Axis labels may be thinned otherwise (the fonts measure differently); marks that are seen may not differ.
    marks = """all => {
      const seen = (mark) => mark.tagName === 'circle' || !['', 'M0,0h0v0h0Z'].includes(mark.getAttribute('d') ?? '')
        && mark.getAttribute('display') !== 'none' && mark.getAttribute('opacity') !== '0';
      return all.filter(s => s.getBoundingClientRect().height).map(s => [
        [...s.querySelectorAll('path, circle')].filter(seen).length, Math.round(s.getBoundingClientRect().width)]);
    }"""
    plain = visit("void", java_script_enabled=False).locator(".drawing svg").evaluate_all(marks)
    assert sum(paths for paths, _ in plain) > 100
    assert all(width > 300 for _, width in plain)
    page = visit("void")
    point_at_every_chart(page)
    assert page.locator(".drawing svg").evaluate_all(marks) == plain


def test_opening_waits_for_no_chart_to_be_drawn_again(visit):
    page = visit("void")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.reload()
    spent = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    # Of this page's thread, so that a busy machine tells the same. Drawing all charts took 0.8 s, opening takes 0.15 s.
    assert spent["ThreadTime"] < 0.5
    assert page.locator(".vega-embed").count() == 0
    assert page.evaluate("typeof vegaEmbed") == "undefined"
    assert page.evaluate("performance.getEntriesByName('first-contentful-paint').length") == 1


def test_a_chart_is_drawn_again_when_the_pointer_comes_to_it_and_no_other(visit):
    page = visit("void")
    page.locator("#interval .plot.wide svg").first.hover()
    page.wait_for_selector(".vega-embed")
    assert page.locator(".vega-embed").count() == page.locator("#interval .plot.wide .vega-embed").count() == 1


def test_a_chart_has_tooltips(visit):
    page = visit("validated")
    page.locator("#interval .plot.wide svg").first.hover()
    page.wait_for_selector("#interval .plot.wide .vega-embed")
    page.locator("#interval .plot.wide .mark-symbol path").first.hover()
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert "paired_hoeffding" in page.locator("#vg-tooltip-element").inner_text()
    assert page.heard == []


@pytest.mark.parametrize("kind", ["validated", "void", "inconclusive"])
def test_text_has_contrast_in_light_and_dark(visit, kind):
    page = visit(kind, java_script_enabled=False)
    grounds = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        examined, faint = page.evaluate(CONTRAST)
        assert examined > 100
        assert faint == []
    assert grounds == ["rgb(255, 255, 255)", "rgb(20, 23, 27)"]


def test_everything_is_reached_by_keyboard_with_a_visible_focus(visit):
    page = visit("validated", java_script_enabled=False)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_url("**#main")
    assert page.locator(".scroll:not([tabindex='0'])").count() == 0
    assert page.locator(".drawing:not([role='img'][aria-label])").count() == 0


def test_a_copied_command_is_the_command(visit):
    page = visit("validated")
    page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    page.locator("#verdict button").first.click()
    assert page.evaluate("window.copied") == "audit decide runs/full --method paired_hoeffding"


def test_it_prints_with_every_table_open(visit):
    page = visit("validated", color_scheme="dark", java_script_enabled=False)
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("details.fold table").first.evaluate("t => t.getBoundingClientRect().height") > 50
    printed = page.pdf(prefer_css_page_size=True)
    assert printed.startswith(b"%PDF")
    assert 20_000 < len(printed) < 1_000_000


def test_items_are_searched_by_their_words(visit):
    page = visit("validated")
    items = page.locator("details.item")
    total = items.count()
    assert total > 50
    field = page.get_by_label("Show items with these words")
    field.focus()
    page.keyboard.type("NEITHER-0003 dppo")
    assert page.locator("details.item:visible .name").all_inner_texts() == ["neither-0003"]
    assert page.locator("#disagreements-found").inner_text() == f"1 of {total} items"
    field.fill("no such words")
    assert page.locator("details.item:visible").count() == 0
    assert page.locator("#disagreements-found").inner_text() == f"0 of {total} items"
    field.fill(" ")
    assert page.locator("details.item:visible").count() == total
    assert page.locator("#disagreements-found").inner_text() == ""
    assert page.heard == []


def test_without_scripts_every_item_is_listed_and_no_field_is_shown(visit):
    page = visit("validated", java_script_enabled=False)
    assert page.locator("details.item:visible").count() == page.locator("details.item").count() > 50
    assert page.locator("#disagreements-search:visible").count() == 0


def test_an_item_opens_by_keyboard_and_both_answers_stand_side_by_side(visit):
    page = visit("validated", java_script_enabled=False)
    first = page.locator("details.item").first
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    left, right = first.locator(".pair > div").all()
    assert left.bounding_box()["y"] == right.bounding_box()["y"]
    page.set_viewport_size({"width": 375, "height": 900})
    assert left.bounding_box()["y"] < right.bounding_box()["y"]


@pytest.fixture(scope="session")
def without_scripts(files):
    """The same pages with no script in them: axe is itself one, so that scripts cannot be switched off under it."""
    for kind in [*KINDS, "comparison"]:
        page = (files / f"{kind}.html").read_text(encoding="utf-8")
        bare = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
        (files / f"{kind}-bare.html").write_text(bare, encoding="utf-8")
    return files


def axe_violations(page):
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert len(found["passes"]) > 20
    return [(rule["id"], node["html"][:120]) for rule in found["violations"] for node in rule["nodes"]]


@pytest.mark.parametrize("kind", ["validated", "void", "empty", "comparison"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_with_scripts_or_without(visit, without_scripts, kind, scheme):
    for width, name in ((390, kind), (1500, f"{kind}-bare")):
        page = visit(name, width, color_scheme=scheme)
        page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
        assert axe_violations(page) == []


def test_axe_would_find_what_is_missing(visit):
    page = visit("void")
    page.locator(".drawing").first.evaluate("box => box.removeAttribute('aria-label')")
    page.locator("h2").first.evaluate("head => { head.style.color = 'rgb(200, 200, 200)'; }")
    assert {"role-img-alt", "color-contrast"} <= {rule for rule, _ in axe_violations(page)}


def test_the_contents_stand_beside_the_page_where_there_is_room_and_lead_to_each_section(visit):
    page = visit("void", java_script_enabled=False)
    links = page.locator("nav a")
    assert links.count() == page.locator("main > section").count()
    assert page.locator("nav .group").all_inner_texts() == ["Decision", "Evidence", "Record"]
    for width, beside in ((390, False), (1200, False), (1500, True)):
        page.set_viewport_size({"width": width, "height": 900})
        contents, main = page.locator("nav").bounding_box(), page.locator("main").bounding_box()
        assert (contents["x"] + contents["width"] <= main["x"]) == beside
    links.last.click()
    page.wait_for_url("**#provenance")


def test_the_gate_fits_the_page_on_a_laptop(visit):
    page = visit("void", 1200, java_script_enabled=False)
    assert page.locator("#gate .scroll").first.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_every_figure_of_the_gate_is_in_sight_on_a_phone(visit):
    page = visit("void", 390, java_script_enabled=False)
    ends = page.locator(".checks td.n").evaluate_all("all => all.map(cell => cell.getBoundingClientRect().right)")
    assert len(ends) > 5
    assert max(ends) <= 390


def test_a_caption_stays_in_sight_on_a_phone(visit):
    page = visit("validated", 390, java_script_enabled=False)
    boxes = page.locator("caption > span").evaluate_all(
        "all => all.map(s => s.getBoundingClientRect()).filter(b => b.width).map(b => b.right)"
    )
    assert len(boxes) >= 5
    assert max(boxes) <= 390


def test_what_can_be_scrolled_has_a_shaded_edge(visit):
    page = visit("validated", 390, java_script_enabled=False)
    wide = page.locator(".scroll:visible, .items:visible").evaluate_all(
        "all => all.filter(b => b.scrollWidth > b.clientWidth || b.scrollHeight > b.clientHeight)"
        ".map(getComputedStyle).map(s => [s.backgroundAttachment, s.backgroundImage.includes('gradient')])"
    )
    assert len(wide) > 3
    assert all(found == ["local, local, scroll, scroll", True] for found in wide)
