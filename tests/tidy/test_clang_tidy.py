"""clang_tidy.py looks at every file that it is given. The rooms themselves have a test each: clang_tidy.ROOM."""
import pathlib
import shutil
import subprocess
import sys

from harness.semel import binary

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = "tests/tidy/clang_tidy.py"
USE_AFTER_MOVE = """
std::string planted(std::string text) {
  const std::string moved = std::move(text);
  return moved + text;
}
"""


def test_a_bug_in_the_last_file_of_a_room_is_found(tmp_path):
    (tmp_path / SCRIPT).parent.mkdir(parents=True)
    for name in (SCRIPT, ".clang-tidy"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "src/base", tmp_path / "src/base")
    last = max((tmp_path / "src/base").glob("*.cc"))
    last.write_text(last.read_text() + USE_AFTER_MOVE)
    result = subprocess.run([sys.executable, tmp_path / SCRIPT, pathlib.Path(binary()).parent, "base"],
                            capture_output=True, text=True)
    assert result.returncode == 1
    assert f"{last}:" in result.stdout and "bugprone-use-after-move" in result.stdout
    assert result.stdout.count(" error: ") == 1
