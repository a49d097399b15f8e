"""A page in headless Chromium, driven as a person would, with what its console said."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")


class Browser:
    """One window. Sizes are CSS pixels."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, page: Path, width: int = 1280, scheme: str = "light") -> None:
        """Load a file in a window of that width, in the light or dark scheme, with an empty console."""
        self.resize(width)
        self.scheme(scheme)
        self.driver.get("about:blank")  # else a file with another fragment is not loaded again
        self.console()
        self.driver.get(page.as_uri())
        loaded = "return location.href === arguments[0] && performance.timing.loadEventEnd > 0"
        # The driver may come back sooner, when the page it left was still settling.
        WebDriverWait(self.driver, 20).until(lambda _: self.js(loaded, page.as_uri()))

    def resize(self, width: int) -> None:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def scheme(self, name: str) -> None:
        features = [
            {"name": "prefers-color-scheme", "value": name},
            {"name": "prefers-reduced-motion", "value": "reduce"},  # scrolling ends at once
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def js(self, body: str, *arguments: object) -> Any:
        """What a function with this body returns."""
        return self.driver.execute_script(body, *arguments)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        """The visible text of every match."""
        return self.js(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText.trim())", selector
        )

    def rows(self, selector: str) -> dict[str, list[str]]:
        """Table rows as the texts of their cells, by the text of the first."""
        script = "return [...document.querySelectorAll(arguments[0])].map((r) => [...r.cells].map((c) => c.innerText))"
        return {first: others for first, *others in self.js(script, selector)}

    def click(self, selector: str) -> None:
        """Click the first match, in the middle of the window: a bar sticks to the top."""
        element = self.one(selector)
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def point_at(self, element: WebElement) -> None:
        """Move the mouse there."""
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        ActionChains(self.driver).move_to_element(element).perform()

    def keys(self, *keys: str) -> None:
        """Press keys wherever the focus is."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def drawn(self, plot: str) -> Any:
        """The traces of a plot of the launch that is shown, once it has been drawn."""
        selector = f'article:not([hidden]) [data-plot="{plot}"]'
        self.js("document.querySelector(arguments[0]).scrollIntoView()", selector)
        script = "const e = document.querySelector(arguments[0]); return e.dataset.drawn ? e.data : null"
        return WebDriverWait(self.driver, 20).until(lambda _: self.js(script, selector))

    def console(self) -> list[str]:
        """Warnings and errors since the last call."""
        return [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser")]


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser; the test is skipped where there is none."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("no chromium with its driver (Debian: apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
