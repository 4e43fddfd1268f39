import pytest

from harness.browser import Browser
from harness.semel_fixtures import *  # noqa: F401,F403


@pytest.fixture(scope="session")
def browser_process(tmp_path_factory):
    process = Browser(tmp_path_factory.mktemp("profile"))
    yield process
    process.quit()


@pytest.fixture
def browser(browser_process):
    """A browser that has said nothing yet, at the size of a laptop."""
    browser_process.size(1440, 900)
    browser_process.colours("light")
    browser_process.words()
    browser_process.asked()
    return browser_process
