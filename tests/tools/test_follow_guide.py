"""A guide that works is followed to its end, and what does not work in it is named."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tools.follow_guide import GUIDE, ROOT, SECTION, GuideError, follow, read_blocks

PYTHON = Path(sys.executable)
TABLE = "printf 'x,kind\\n1,a\\n2,b\\n' > own.csv  # make FILE=own.csv TARGET=kind OUT=out.csv"
GOOD = f"""# Guide
## Start
```sh
{TABLE}
printf 'row,prediction\\n' \\
    > out.csv
```
Then in Python:
```python
from pathlib import Path

Path("out.csv").write_text(Path("out.csv").read_text() + "0,a\\n")
```
### Below
```console
$ false
```
## Other
```sh
false
```
"""


@pytest.fixture
def followed(tmp_path):
    return lambda text: follow(read_blocks(text, "Start"), tmp_path, PYTHON)


def test_a_guide_is_followed_to_its_predictions(followed) -> None:
    assert list(followed(GOOD)["prediction"]) == ["a"]


@pytest.mark.parametrize(
    ("was", "becomes", "told"),
    [
        ("Path(\"out", "Path(\"none/out", "guide_1.py"),
        ("> own.csv", "> own.csv; exit 3", "ended with 3"),
        ("> out.csv", "> other.csv", "guide_1.py"),
        (" OUT=out.csv", "", "names no OUT="),
        (" OUT=out.csv", " OUT=none.csv", "none.csv was not written"),
        ("## Start", "## Begin", "no section 'Start'"),
        ("0,a", "0,1", "name none of"),
    ],
)  # fmt: skip
def test_what_does_not_work_is_named(followed, was, becomes, told) -> None:
    with pytest.raises(GuideError, match=told):
        followed(GOOD.replace(was, becomes))


@pytest.mark.parametrize(("names", "good"), [("ab", True), ("01", False), ("a1", False)])
def test_probabilities_name_the_classes_too(followed, names, good) -> None:
    header = ",".join(f"probability_{name}" for name in names)
    text = GOOD.replace("row,prediction", header)
    if good:
        assert len(followed(text)) == 1
    else:
        with pytest.raises(GuideError, match="name none of"):
            followed(text)


@pytest.mark.slow
def test_the_guide_of_the_docs_ends_in_classes(tmp_path) -> None:
    made = shutil.ignore_patterns(".*", "data", "runs", "reports", "__pycache__")
    clone = shutil.copytree(ROOT, tmp_path / "clone", ignore=made)
    found = follow(read_blocks((ROOT / GUIDE).read_text(encoding="utf-8"), SECTION), clone, PYTHON)
    assert set(found["prediction"]) <= {"Reciprocating", "Turbo-fan", "Turbo-jet"}
    assert len(found) == 3322
