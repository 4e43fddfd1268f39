"""A headless Chromium for the tests of the console: a profile of its own, no way to any other machine, and a record of
what it asked for and of every word in its console."""

import json
import os
import pathlib
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from harness.clients.http_client import TIMEOUT
from harness.semel import binary, eventually

FLAGS = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-sync",
         "--disable-component-update", "--no-first-run", "--hide-scrollbars", "--force-color-profile=srgb",
         "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"]
PICTURES = pathlib.Path(binary()).parent / "console"


class Browser:
    """One tab. `words()` and `asked()` are what came up since they were last called."""

    def __init__(self, profile):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for flag in [*FLAGS, f"--user-data-dir={profile}"]:
            options.add_argument(flag)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.set_script_timeout(TIMEOUT)
        self.origin = None
        self.folder = PICTURES
        self.size(1440, 900)
        self.colours("light")

    def quit(self):
        self.driver.quit()

    # --- where it is --------------------------------------------------------------------------------

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def colours(self, scheme, motion="no-preference"):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion}]})

    def open(self, gateway, page="live", fresh=True):
        """Opens a page of the gateway's console, as a new visitor unless told otherwise."""
        self.origin = "http://%s:%d" % gateway.admin_address
        self.driver.get("about:blank")  # a page of the same address would not be loaded again
        self.driver.get(f"{self.origin}/#/{page}")
        if fresh and self.run("return sessionStorage.length + localStorage.length"):
            self.run("sessionStorage.clear(); localStorage.clear()")
            self.driver.refresh()
        self.see(".link-state", "Live")

    def go(self, page):
        """Another page, without loading anything."""
        self.run("location.hash = arguments[0]", f"#/{page}")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    # --- what is there ------------------------------------------------------------------------------

    def all(self, selector, text=""):
        script = ("return [...document.querySelectorAll(arguments[0])].filter(e => e.textContent.includes(arguments[1]) && "
                  "e.getClientRects().length)")
        return self.run(script, selector, text)

    def see(self, selector, text="", timeout=TIMEOUT):
        """Waits until an element with this text is shown; returns it."""
        return eventually(lambda: self.all(selector, text), timeout)[0]

    def gone(self, selector, text=""):
        eventually(lambda: not self.all(selector, text))

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def click(self, selector, text=""):
        # By script: a table that is drawn anew under the pointer would make the driver's click miss.
        eventually(lambda: self.run(
            "const found = [...document.querySelectorAll(arguments[0])].find(e => e.textContent.includes(arguments[1]) && "
            "e.getClientRects().length); found?.click(); return Boolean(found)", selector, text))

    def field(self, label):
        """The control with this label, in the dialog if one is open."""
        def find():
            return self.run("""
                const root = document.querySelector('dialog[open]') ?? document;
                const label = [...root.querySelectorAll('label')].find(e => e.textContent.trim().startsWith(arguments[0]));
                return label?.htmlFor ? document.getElementById(label.htmlFor) : label?.querySelector('input, textarea')""", label)
        return eventually(find)

    def type(self, label, text):
        control = self.field(label)
        control.clear()
        control.send_keys(text)

    def press(self, *keys):
        for key in keys:
            webdriver.ActionChains(self.driver).send_keys(key).perform()

    def sign_in(self, gateway):
        self.click("#tools button", "Sign in")
        self.type("Token", gateway.admin_token())
        self.click("dialog .main")
        self.see("#tools button", "admin")
        self.gone("dialog")

    def search(self, text):
        box = self.driver.find_element(By.ID, "search-text")
        box.clear()
        box.send_keys(text + Keys.ENTER)

    # --- what it did --------------------------------------------------------------------------------

    def words(self):
        return [f"{entry['level']} {entry['message']}" for entry in self.driver.get_log("browser")]

    def asked(self):
        """Returns the addresses that were requested."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def picture(self, name):
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}.png"
        assert self.driver.save_screenshot(str(path))
        return path

    def within(self, seconds, check):
        """Returns how long it took until `check` held."""
        begun = time.monotonic()
        eventually(check, seconds)
        return time.monotonic() - begun
