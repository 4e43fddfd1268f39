import sys

import pytest

sys.dont_write_bytecode = True
pytest.register_assert_rewrite("harness")
