from harness.semel_fixtures import *  # noqa: F401,F403
from harness.postgres_fixtures import *  # noqa: F401,F403
