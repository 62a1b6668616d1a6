"""The structure of a booster, checked before XGBoost reads it: its own reader trusts the file.

A booster is UBJSON as XGBoost writes it, a part of what UBJSON allows. All lengths and
all indices must match the data, so that no file can let XGBoost read or reserve memory that it
should not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from pipeline.errors import DataError

_NUMBERS: Final = {
    b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8",
}  # fmt: skip
_NESTED: Final = 32
_DEEPEST: Final = 4096
"""Of a tree: XGBoost walks it by recursion."""
_MOST_FEATURES: Final = 2**26
_MOST_GROUPS: Final = 2**16
"""Outputs that nothing else in the file tells of."""
_MOST_CATEGORIES: Final = 2**24
_MOST_BITS: Final = 2**33
"""That the sets of categories of all splits take in memory."""
_NO_NODE: Final = 2**31 - 1
_OF_NODES: Final = {
    "left_children": ("i4",), "right_children": ("i4",), "parents": ("i4",),
    "split_indices": ("i4", "i8"), "split_conditions": ("f4",), "default_left": ("u1",),
    "split_type": ("u1",), "sum_hessian": ("f4",), "loss_changes": ("f4",),
}  # fmt: skip
_OF_CATEGORIES: Final = {
    "categories": "i4", "categories_nodes": "i4", "categories_segments": "i8",
    "categories_sizes": "i8",
}  # fmt: skip


def check_booster(data: bytes) -> None:
    """Raise `DataError` unless bytes are a booster that is known, whose parts fit each other."""
    with _known():
        _model(_Reader(data).whole())


def model_of(data: bytes) -> bytes:
    """Return the checked booster in what XGBoost pickles, without the settings beside it."""
    with _known():
        reader = _Reader(data)
        _model(_keys(reader.whole(), ("Config", "Model"))["Model"])
    return reader.data[reader.spans["Model"]]


@contextmanager
def _known() -> Iterator[None]:
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise DataError(f"not a booster of XGBoost that this version can read: {error}") from error


def _demand(condition: Any, what: str) -> None:
    if not condition:
        raise ValueError(what)


class _Reader:
    """Reads UBJSON as XGBoost writes it, and no other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = bytes(data), 0
        self.spans: dict[str, slice] = {}
        """Where the values of the outermost object are."""

    def whole(self) -> Any:
        value = self._value(0)
        _demand(self.at == len(self.data), "data follows the booster")
        return value

    def _take(self, size: int) -> bytes:
        _demand(0 <= size <= len(self.data) - self.at, "a length exceeds the data")
        self.at += size
        return self.data[self.at - size : self.at]

    def _size(self) -> int:
        _demand(self._take(1) == b"L", "a length is not a number")
        return int.from_bytes(self._take(8), "big", signed=True)

    def _text(self) -> str:
        return self._take(self._size()).decode("utf-8")

    def _value(self, depth: int) -> Any:
        _demand(depth < _NESTED, "nested too deeply")
        mark = self._take(1)
        if mark == b"{":
            return self._object(depth)
        if mark == b"[":
            return self._array(depth)
        if mark == b"S":
            return self._text()
        if mark in b"TF":
            return mark == b"T"
        dtype = np.dtype(_NUMBERS[mark])
        return np.frombuffer(self._take(dtype.itemsize), dtype)[0].item()

    def _object(self, depth: int) -> dict[str, Any]:
        held: dict[str, Any] = {}
        while self.data[self.at : self.at + 1] != b"}":
            name = self._text()
            _demand(name not in held, f"{name!r} is there twice")
            start = self.at
            held[name] = self._value(depth + 1)
            if depth == 0:
                self.spans[name] = slice(start, self.at)
        self.at += 1
        return held

    def _array(self, depth: int) -> Any:
        mark, dtype = self._take(1), None
        if mark == b"$":
            dtype, mark = np.dtype(_NUMBERS[self._take(1)]), self._take(1)
        _demand(mark == b"#", "an array without a length")
        size = self._size()
        if dtype is not None:
            return np.frombuffer(self._take(size * dtype.itemsize), dtype).astype(dtype.str[1:])
        _demand(0 <= size <= len(self.data) - self.at, "a length exceeds the data")
        return [self._value(depth + 1) for _ in range(size)]


def _keys(held: Any, needed: Iterable[str], also: Iterable[str] = ()) -> Any:
    """Return a mapping that has these keys and no other."""
    needed, known = set(needed), {*needed, *also}
    _demand(needed <= held.keys() <= known, f"lacks or adds one of {sorted(needed)}")
    return held


def _whole(text: Any, low: int, high: int, what: str) -> int:
    _demand(isinstance(text, str) and re.fullmatch(r"\d{1,18}", text, re.ASCII), what)
    _demand(low <= int(text) <= high, f"{what}={text}")
    return int(text)


def _integers(values: Any, what: str) -> np.ndarray:
    plain = all(type(each) is int for each in values) if isinstance(values, list) else True
    found = np.asarray(values if len(values) else np.zeros(0, "i8"))
    _demand(plain and found.dtype.kind in "iu", what)
    return found.astype("i8")


def _ends(values: Any, last: int, what: str) -> np.ndarray:
    """Return where the parts of something end, of which the last one ends it."""
    ends = _integers(values, what)
    in_order = len(ends) and ends[0] == 0 and ends[-1] == last and (np.diff(ends) >= 0).all()
    _demand(in_order, what)
    return ends


def _floats(values: Any, size: int, what: str) -> None:
    if isinstance(values, list):
        _demand(all(type(each) is float for each in values), what)
        values = np.array(values, "f4")
    _demand(values.dtype.str[1:] == "f4" and len(values) == size, what)


def _texts(held: Any) -> None:
    _demand(all(type(each) is str for each in held), "no text")


def _model(model: Any) -> None:
    learner = _keys(model, ("learner", "version"))["learner"]
    _demand(len(_integers(model["version"], "version")) == 3, "version")
    _keys(
        learner,
        ("feature_names", "feature_types", "gradient_booster", "learner_model_param", "objective"),
        ("attributes",),
    )
    _texts(learner.get("attributes", {}).values())
    about = learner["learner_model_param"]
    _keys(about, ("base_score", "num_class", "num_feature"), ("boost_from_average", "num_target"))
    _texts(about.values())
    width = _whole(about["num_feature"], 0, _MOST_FEATURES, "num_feature")
    classes = _whole(about["num_class"], 0, _NO_NODE, "num_class")
    groups = max(classes, _whole(about.get("num_target", "1"), 0, _NO_NODE, "num_target"), 1)
    for names in ("feature_names", "feature_types"):
        _texts(learner[names])
        _demand(len(learner[names]) in (0, width), names)
    scores = [float(each) for each in about["base_score"].strip("[]").split(",")]
    _demand(len(scores) in (1, groups), "base_score")
    _objective(learner["objective"], classes)
    trees = _booster(learner["gradient_booster"], width, groups)
    _demand(groups <= max(len(scores), trees, _MOST_GROUPS), "num_class")


def _objective(objective: Mapping[str, Any], classes: int) -> None:
    _texts([objective["name"]])
    for name, params in objective.items():
        if name != "name":
            _texts(params.values())
            told = params.get("num_class", str(classes))
            _demand(told == str(classes), f"{name}: num_class")


def _booster(booster: Any, width: int, groups: int) -> int:
    """Check what makes the predictions; return the number of trees."""
    if booster["name"] == "gblinear":
        linear = _keys(booster, ("name", "model"))["model"]
        _keys(linear, ("weights",), ("boosted_rounds",))
        _demand(type(linear.get("boosted_rounds", 0)) is int, "boosted_rounds")
        _floats(linear["weights"], (width + 1) * groups, "weights")
        return 0
    if booster["name"] == "dart":
        dart = _keys(booster, ("name", "gbtree", "weight_drop"))
        count = _booster(dart["gbtree"], width, groups)
        _floats(dart["weight_drop"], count, "weight_drop")
        return count
    _demand(booster["name"] == "gbtree", "the name of the booster")
    model = _keys(booster, ("name", "model"))["model"]
    _keys(model, ("gbtree_model_param", "iteration_indptr", "tree_info", "trees"), ("cats",))
    trees, about = model["trees"], model["gbtree_model_param"]
    _keys(about, ("num_parallel_tree", "num_trees"))
    count = len(trees)
    _demand(_whole(about["num_trees"], 0, _NO_NODE, "num_trees") == count, "num_trees")
    _whole(about["num_parallel_tree"], 1, count or _NO_NODE, "num_parallel_tree")
    info = _integers(model["tree_info"], "tree_info")
    _demand(len(info) == count and ((info >= 0) & (info < groups)).all(), "tree_info")
    _ends(model["iteration_indptr"], count, "iteration_indptr")
    if "cats" in model:
        _cats(model["cats"], width)
    if count:
        _trees(trees, width, groups)
    return count


def _cats(cats: Any, width: int) -> None:
    """Check the values of the categories of each column."""
    _keys(cats, ("enc", "feature_segments", "sorted_idx"))
    order = _integers(cats["sorted_idx"], "sorted_idx")
    if not len(cats["enc"]):
        _demand(len(cats["feature_segments"]) == len(order) == 0, "cats")
        return
    counts = np.diff(_ends(cats["feature_segments"], len(order), "feature_segments"))
    _demand(len(cats["enc"]) == len(counts) == width, "cats")
    limits = np.repeat(counts, counts)
    _demand(((order >= 0) & (order < limits)).all(), "sorted_idx")
    for values, size in zip(cats["enc"], counts.tolist(), strict=True):
        if "offsets" in values:
            starts = _keys(values, ("offsets", "values"))["offsets"]
            letters = len(_integers(values["values"], "values"))
            if size or len(starts):
                _demand(len(_ends(starts, letters, "offsets")) == size + 1, "offsets")
        else:
            _keys(values, ("type", "values"))
            _demand(type(values["type"]) is int and len(values["values"]) == size, "values")


def _trees(trees: Sequence[Any], width: int, groups: int) -> None:
    """Check all nodes of all trees at once."""
    needed = (*_OF_NODES, *_OF_CATEGORIES, "base_weights", "id", "tree_param")
    sizes, gone, outputs, leaves = [], [], [], []
    for number, tree in enumerate(trees):
        about = _keys(tree, needed, ("leaf_weights",))["tree_param"]
        _keys(about, ("num_deleted", "num_feature", "num_nodes", "size_leaf_vector"))
        _demand(tree["id"] == number and type(tree["id"]) is int, "id")
        _demand(_whole(about["num_feature"], 0, _NO_NODE, "num_feature") == width, "num_feature")
        size = _whole(about["num_nodes"], 1, _NO_NODE, "num_nodes")
        sizes.append(size)
        gone.append(_whole(about["num_deleted"], 0, size - 1, "num_deleted"))
        outputs.append(max(_whole(about["size_leaf_vector"], 0, groups, "size_leaf_vector"), 1))
        _demand(outputs[-1] in (1, groups), "size_leaf_vector")
        for name, kinds in _OF_NODES.items():
            known = isinstance(tree[name], np.ndarray) and tree[name].dtype.str[1:] in kinds
            _demand(known and len(tree[name]) == size, name)
        _floats(tree["base_weights"], size * outputs[-1], "base_weights")
        kept = tree.get("leaf_weights", np.zeros(size * outputs[-1], "f4"))
        leaves.append(len(kept) // outputs[-1])
        _floats(kept, leaves[-1] * outputs[-1], "leaf_weights")
    of = {name: np.concatenate([tree[name] for tree in trees]).astype("i8") for name in
          ("left_children", "right_children", "parents", "split_indices", "default_left",
           "split_type")}  # fmt: skip
    _links(of, np.array(sizes), np.array(gone), width, np.array(leaves) * (np.array(outputs) > 1))
    bits = sum(_categories(tree) for tree in trees)
    _demand(bits <= _MOST_BITS, "categories")


def _links(
    of: Mapping[str, np.ndarray], sizes: np.ndarray, gone: np.ndarray, width: int,
    leaves: np.ndarray,
) -> None:  # fmt: skip
    """Check that the nodes of each tree are one tree, but for those that were pruned."""
    starts = np.cumsum(sizes) - sizes
    first, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    left, right, feature = of["left_children"], of["right_children"], of["split_indices"]
    splits = left != -1
    pruned = ~splits & (feature == _NO_NODE)
    ends = ~splits & ~pruned
    for child in (left[splits], right[splits]):
        _demand(((child > 0) & (child < size[splits])).all(), "children")
    told = right[ends]
    _demand(((told == -1) | ((told >= 0) & (told < np.repeat(leaves, sizes)[ends]))).all(), "leaf")
    _demand((right[pruned] == -1).all(), "children")
    _demand(((feature[splits] >= 0) & (feature[splits] < width)).all(), "split_indices")
    _demand(np.isin(of["default_left"], (0, 1)).all(), "default_left")
    _demand(np.isin(of["split_type"], (0, 1)).all(), "split_type")
    # Each node but the roots is the child of one other, which it knows.
    children = np.concatenate([(first + left)[splits], (first + right)[splits]])
    one = ~pruned
    _demand(one[starts].all(), "a root was pruned")
    one[starts] = False
    _demand((np.bincount(children, minlength=len(left)) == one).all(), "children")
    above = np.tile((np.arange(len(left)) - first)[splits], 2)
    _demand((of["parents"][children] == above).all(), "parents")
    _demand(((of["parents"][pruned] >= 0) & (of["parents"] < size)[pruned]).all(), "parents")
    _demand(np.isin(of["parents"][starts], (-1, _NO_NODE)).all(), "parents")
    _demand((np.add.reduceat(pruned, starts, dtype="i8") == gone).all(), "num_deleted")
    # And is reached from the root, so that there is no circle beside the tree.
    level, reached = starts, 0
    for _ in range(_DEEPEST):
        reached += len(level)
        level = level[splits[level]]
        level = np.concatenate([(first + left)[level], (first + right)[level]])
        if not len(level):
            break
    _demand(not len(level), f"a tree is deeper than {_DEEPEST}")
    _demand(reached == (~pruned).sum(), "children")


def _categories(tree: Mapping[str, Any]) -> int:
    """Check the sets of categories by which a tree splits; return the bits that they take."""
    found = [tree[name] for name in _OF_CATEGORIES]
    for kind, values in zip(_OF_CATEGORIES.values(), found, strict=True):
        _demand(isinstance(values, np.ndarray) and values.dtype.str[1:] == kind, "categories")
    categories, nodes, segments, sizes = (values.astype("i8") for values in found)
    by_set = np.flatnonzero((tree["split_type"] == 1) & (tree["left_children"] != -1))
    if not len(nodes):
        _demand(not len(by_set) and not len(segments) + len(sizes) + len(categories), "categories")
        return 0
    known = (nodes >= 0) & (nodes < len(tree["split_type"]))
    _demand(known.all() and (np.diff(nodes) > 0).all(), "categories_nodes")
    _demand((tree["split_type"][nodes] == 1).all() and np.isin(by_set, nodes).all(), "split_type")
    _demand(len(segments) == len(sizes) == len(nodes) and (sizes > 0).all(), "categories_sizes")
    whole = (np.cumsum(sizes) - sizes == segments).all() and sizes.sum() == len(categories)
    _demand(whole, "categories_segments")
    _demand(((categories >= 0) & (categories < _MOST_CATEGORIES)).all(), "categories")
    return int(np.maximum.reduceat(categories, segments).sum() + len(nodes))
