from harness.semel_fixtures import *  # noqa: F401,F403
