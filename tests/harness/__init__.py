"""The harness of the tests in Python: servers, clients and executors that they start, and what they assert with."""
import pathlib

TESTS = pathlib.Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
