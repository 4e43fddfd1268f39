import pathlib
import sys

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
pytest.register_assert_rewrite("semel_harness", "http_client", "upstream_control", "sql_app")

from semel_fixtures import *  # noqa: E402,F401,F403
from postgres_fixtures import *  # noqa: E402,F401,F403
