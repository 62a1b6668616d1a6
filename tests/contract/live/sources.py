"""The sources and libraries of the installed packages, as text."""

from __future__ import annotations

import inspect
import mmap
import re
import sys
from pathlib import Path
from pkgutil import resolve_name


def source(name: str) -> str:
    """Return the source of an object, white space made one."""
    found = resolve_name(name)
    found = getattr(found, "fget", getattr(found, "func", found))
    return _plain(inspect.getsource(inspect.unwrap(found)))


def shipped(path: str) -> str:
    """Return a file that a package brings along, white space made one."""
    package, _, name = path.partition("/")
    folder = Path(str(resolve_name(package).__file__)).parent
    return _plain((folder / name).read_text(encoding="utf-8"))


def compiled(path: str, pattern: str) -> set[bytes]:
    """Return what a library holds that is like a pattern."""
    package, _, name = path.partition("/")
    library = Path(str(resolve_name(package).__file__)).parent / name
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        return set(re.findall(pattern.encode(), held))


def of_class(cls: type) -> str:
    """Return the source of the module of a class; compiled ones come with theirs."""
    path = Path(str(sys.modules[cls.__module__].__file__))
    suffix = "py" if path.suffix == ".py" else "pyx"
    return path.with_name(f"{path.name.partition('.')[0]}.{suffix}").read_text("utf-8")


def _plain(text: str) -> str:
    return " ".join(text.split())
