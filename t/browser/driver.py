"""Drives a real browser for t/lib/RateLimit/Browser.pm, by selenium.

    driver.py CHROMEDRIVER CHROMIUM FOLDER

Each line of standard input is a call, [NAME, ARGUMENT...], of a public method of Browser; each line of standard output its
answer: {"value": ...} or {"error": TEXT}. The browser ends with the input. FOLDER gets its profile and its log.
"""

import base64
import json
import signal
import sys

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE = 30


class Browser:
    def __init__(self, chromedriver, chromium, folder):
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                       "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
                       "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={folder}/browser"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = Service(chromedriver, log_path=f"{folder}/browser.log")
        self._driver = webdriver.Chrome(service=service, options=options)
        self._driver.set_page_load_timeout(PATIENCE)
        self._logs = {"browser": [], "performance": []}

    def quit(self):
        self._driver.quit()

    def view(self, width, height, scheme="light", media=""):
        """WebDriver's windows have a least width, and no other media."""
        self._cdp("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self._cdp("Emulation.setEmulatedMedia",
                  {"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def open(self, url):
        self._forget_logs()
        self._driver.get(url)

    def value(self, expression):
        return self._driver.execute_script(f"return {expression}")

    def in_frame(self, expression):
        self._driver.switch_to.frame(0)
        try:
            return self.value(expression)
        finally:
            self._driver.switch_to.default_content()

    def click(self, selector):
        self._find(selector).click()

    def follow(self, selector):
        """A click that leads to another page; waits for that."""
        self._forget_logs()
        left = self._find("html")
        self._find(selector).click()
        wait = WebDriverWait(self._driver, PATIENCE, poll_frequency=0.05, ignored_exceptions=[WebDriverException])
        wait.until(staleness_of(left))
        wait.until(lambda driver: driver.execute_script("return document.readyState") == "complete")

    def type(self, selector, text):
        field = self._find(selector)
        field.clear()
        field.send_keys(text)

    def press(self, key):
        ActionChains(self._driver).send_keys(getattr(Keys, key.upper())).perform()

    def requests(self):
        events = [json.loads(entry["message"])["message"] for entry in self._log("performance")]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        return [entry["message"] for entry in self._log("browser")]

    def accessible(self):
        nodes = [node for node in self._cdp("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
        return [{"role": node["role"]["value"], "name": node.get("name", {}).get("value", "")} for node in nodes]

    def screenshot(self, path, whole=False):
        png = self._cdp("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": bool(whole)})
        with open(path, "wb") as file:
            file.write(base64.b64decode(png["data"]))

    def _find(self, selector):
        return self._driver.find_element(By.CSS_SELECTOR, selector)

    def _cdp(self, method, parameters=None):
        return self._driver.execute_cdp_cmd(method, parameters or {})

    def _log(self, kind):
        """Chromedriver tells each entry once."""
        self._logs[kind] += self._driver.get_log(kind)
        return self._logs[kind]

    def _forget_logs(self):
        for kind, entries in self._logs.items():
            self._driver.get_log(kind)
            entries.clear()


def answer(browser, line):
    name, *arguments = json.loads(line)
    try:
        if name.startswith("_"):
            raise ValueError(f"no method {name}")
        return {"value": getattr(browser, name)(*arguments)}
    except Exception as error:  # the caller is told of each
        return {"error": f"{name}: {error}"}


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    browser = Browser(*sys.argv[1:])
    try:
        for line in sys.stdin:
            print(json.dumps(answer(browser, line)), flush=True)
    finally:
        browser.quit()


main()
