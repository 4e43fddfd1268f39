"""What can be measured of the console's looks: contrast, names of controls, where the focus is, what fits on a phone, and
that motion can be off. Leaves pictures in build/console."""

import pytest

from harness.semel import new_key

PAGES = ["live", "keys", "unknown", "queues", "routes", "nodes", "why"]
TEXT_MIN, SHAPE_MIN = 4.5, 3.0
TONES = ["executed", "replayed", "waited", "conflict", "mismatch", "unknown", "quiet"]


@pytest.fixture(scope="module")
def gateway(module_gateway, upstream_process):
    gateway = module_gateway({"name": "charges", "path": "/charges"}, {"name": "refunds", "path": "/refunds"})
    for number in range(12):
        key = new_key()
        gateway.post("/charges", json={"amount": number}, key=key)
        gateway.post("/charges", json={"amount": number}, key=key)
    gateway.post("/charges", json={"amount": 1}, key=key)
    gateway.post("/refunds", json={"amount": 1}, key=new_key(), test="close=reset")
    return gateway


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_measure_of_contrast():
    assert round(contrast("#000000", "#ffffff"), 1) == 21 and contrast("#777777", "#777777") == 1
    assert contrast("#767676", "#ffffff") >= TEXT_MIN > contrast("#777777", "#ffffff")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("chosen", ["system", "switched"])
def test_contrast(gateway, browser, scheme, chosen):
    """Of the colours as the page computes them, by the system's wish and by the switch."""
    browser.colours(scheme if chosen == "system" else {"light": "dark", "dark": "light"}[scheme])
    browser.open(gateway)
    if chosen == "switched":
        browser.run("document.documentElement.dataset.theme = arguments[0]", scheme)
    names = ["ground", "raised", "line", "edge", "text", *TONES]
    token = browser.run("const s = getComputedStyle(document.documentElement);"
                        "return Object.fromEntries(arguments[0].map(n => [n, s.getPropertyValue('--' + n).trim()]))", names)
    assert (luminance(token["ground"]) > 0.5) == (scheme == "light")
    for surface in ("ground", "raised"):
        for text in ("text", "quiet", "unknown", "replayed"):
            assert contrast(token[text], token[surface]) >= TEXT_MIN, (text, surface)
        for shape in (*TONES, "edge"):
            assert contrast(token[shape], token[surface]) >= SHAPE_MIN, (shape, surface)
    for inverse in ("text", "unknown"):  # the main button, the number of unknown outcomes
        assert contrast(token["ground"], token[inverse]) >= TEXT_MIN
    body = browser.run("const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]")
    assert body == [rgb(token["text"]), rgb(token["ground"])]


def rgb(colour):
    return "rgb(%d, %d, %d)" % tuple(int(colour[i:i + 2], 16) for i in (1, 3, 5))


def test_every_control_has_a_name(gateway, browser):
    browser.open(gateway)
    seen = 0
    for page in PAGES:
        browser.go(page)
        browser.see(f'nav a[aria-current="page"][data-page="{page}"]')
        browser.see("main h1")
        for control in browser.all("button, a[href], input, select, textarea, [role=grid], canvas, dialog"):
            seen += 1
            assert control.accessible_name.strip(), (page, control.get_attribute("outerHTML"))
    assert seen > 100


def test_the_focus_can_be_seen_wherever_tab_leads(gateway, browser):
    browser.open(gateway, "routes")
    browser.see(".card")
    visited = set()
    for _ in range(24):
        browser.press("\ue004")  # Tab
        shown = browser.run("""const e = document.activeElement, s = getComputedStyle(e);
            return [e.tagName + (e.id || e.textContent.slice(0, 20)), s.outlineStyle, parseFloat(s.outlineWidth), s.outlineColor]""")
        if shown[0].startswith("BODY"):
            continue
        visited.add(shown[0])
        assert shown[1] == "solid" and shown[2] >= 2, shown
        assert shown[3] == rgb("#2b6cb0"), shown
    assert len(visited) > 14


def test_the_keyboard_leads_everywhere(gateway, browser):
    browser.open(gateway)
    for letter, page in zip("kuqrnwl", ["keys", "unknown", "queues", "routes", "nodes", "why", "live"]):
        browser.press("g", letter)
        browser.see(f'nav a[aria-current="page"][data-page="{page}"]')
    browser.press("?")
    browser.see("dialog", "Keyboard")
    browser.press("\ue00c")
    browser.gone("dialog")
    browser.press("/")
    assert browser.run("return document.activeElement.id") == "search-text"
    browser.press("g", "u")  # typed, not obeyed
    assert browser.run("return document.activeElement.value") == "gu"


def test_on_a_phone_nothing_sticks_out(gateway, browser):
    browser.size(360, 740)
    browser.open(gateway)
    for page in PAGES:
        browser.go(page)
        browser.see(f'nav a[aria-current="page"][data-page="{page}"]')
        browser.see("main h1")
        wide = browser.run("""return [...document.querySelectorAll('body *')].filter(e => e.getClientRects().length &&
            e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('pre')).map(e => e.outerHTML.slice(0, 120))""")
        assert wide == [], page
    bar = browser.run("const r = document.querySelector('nav').getBoundingClientRect(); return [r.left, r.right, r.bottom]")
    assert bar == [0, 360, 740]


def test_motion_is_off_where_the_system_asks(gateway, browser):
    browser.colours("light", motion="reduce")
    browser.open(gateway, "keys")
    browser.click(".tr")
    browser.see("#panel .panel-head")
    assert browser.run("return getComputedStyle(document.getElementById('panel')).animationName") == "none"
    browser.colours("light")


def test_the_switch_of_colours_is_remembered(gateway, browser):
    browser.open(gateway)
    browser.click('#tools button[aria-label^="Colours"]')
    browser.click('#tools button[aria-label^="Colours"]')
    browser.open(gateway, fresh=False)
    assert browser.run("return document.documentElement.dataset.theme") == "dark"
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == rgb("#0f1216")


def test_pictures(gateway, browser):
    for name, size, scheme in (("light", (1440, 900), "light"), ("dark", (1440, 900), "dark"), ("narrow", (360, 740), "light")):
        browser.size(*size)
        browser.colours(scheme)
        for page in ("live", "keys", "unknown", "routes"):
            browser.open(gateway, page)
            browser.see(".tr, .case, .card")
            picture = browser.picture(f"{page}-{name}")
            assert picture.stat().st_size > 5000
