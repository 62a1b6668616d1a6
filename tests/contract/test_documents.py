"""What the documents say of the tests is so."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.contract.verify import frozen

ROOT = Path(__file__).parents[2]


def document(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def gpu_tests() -> set[str]:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.glob("tests/gpu/*.py"))
    return {node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_test_named_in_the_semantics_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", document("gpu-semantics.md")))
    assert len(named) > 15
    assert named <= gpu_tests()


def test_every_file_named_in_the_contract_exists() -> None:
    named = re.findall(r"`(tests/contract/\w+\.\w+)`", document("contract.md"))
    assert named
    assert all((ROOT / path).is_file() for path in named)


def test_versions_in_the_contract_are_those_of_the_snapshot() -> None:
    versions = frozen().versions
    stated = "cuDF {cudf}, cuML {cuml}, CuPy {cupy}".format(**versions)
    assert stated in document("contract.md")
