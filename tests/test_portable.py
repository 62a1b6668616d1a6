"""The CPU path in a Python that shows our modules what Windows has, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT, python

pytestmark = pytest.mark.slow
WINDOWS = """
import builtins, ctypes, errno, fcntl, multiprocessing.connection, os, psutil, signal, subprocess
import sys, types

ABSENT = {"fcntl", "grp", "pty", "pwd", "resource", "termios"}
HIDDEN = {
    os: "fork getloadavg getpgid getsid getuid killpg sched_getaffinity setsid statvfs uname",
    signal: "SIGALRM SIGHUP SIGKILL pthread_sigmask",
}
def seen(module, **instead):
    copy, hidden = types.ModuleType(module.__name__), HIDDEN.get(module, "").split()
    copy.__getattr__ = lambda name: getattr(module, f"no {name}" if name in hidden else name)
    vars(copy).update(instead)
    return copy
def deny(wrong, code=errno.EACCES):
    if wrong:
        raise OSError(code, "not on Windows")
def open_(path, *args, **options):
    return deny(os.path.isdir(path)) or os.open(path, *args, **options)
def fsync(handle):
    writes = fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    return deny(not writes, errno.EBADF) or os.fsync(handle)
def locking(handle, mode, count):
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        deny(True)
MODULES = {
    "ctypes": seen(ctypes, CDLL=lambda name, **options: ctypes.CDLL(name + "", **options)),
    "msvcrt": types.SimpleNamespace(LK_NBLCK=2, locking=locking),
    "os": seen(os, open=open_, fsync=fsync, set_handle_inheritable=os.set_inheritable),
    "signal": seen(signal),
    "subprocess": seen(subprocess, CREATE_NEW_PROCESS_GROUP=0),
    "sys": seen(sys, platform="win32"),
}
multiprocessing.connection.PipeConnection = multiprocessing.connection.Connection
really = builtins.__import__
def import_(name, globals=None, *args, **options):
    if (globals or {}).get("__name__", "").partition(".")[0] in ("pipeline", "datasets", "tasks"):
        if name in ABSENT:
            raise ModuleNotFoundError(f"Windows has no {name}", name=name)
        if name in MODULES:
            return MODULES[name]
    return really(name, globals, *args, **options)
def audit(event, args):  # Windows renames and removes no open file
    if event in ("os.remove", "os.rename"):
        names = [os.path.abspath(each) for each in args if isinstance(each, str | os.PathLike)]
        opened = [each.path + "/" for each in psutil.Process().open_files()]
        deny(any(each.startswith(name + "/") for each in opened for name in names))
builtins.__import__ = import_
sys.addaudithook(audit)
"""
PROBES = """
import sitecustomize
wrong = {"import ctypes; ctypes.CDLL(None)": TypeError, "import os; os.open('.', 0)": OSError,
         "import os; os.fsync(os.open('a', 0))": OSError, "import os; os.remove('a')": OSError,
         "import sys; assert sys.platform != 'win32'": AssertionError}
wrong |= {f"import {each}": ImportError for each in sitecustomize.ABSENT}
for module, names in sitecustomize.HIDDEN.items():
    assert all(hasattr(module, name) for name in names.split()), "this system has none either"
    name = module.__name__
    wrong |= {f"import {name}; {name}.{each}": AttributeError for each in names.split()}
with open("a", "w"):
    for text, error in wrong.items():
        try:
            exec(text, {"__name__": "pipeline.probe"})
        except error:
            continue
        raise SystemExit(f"not hidden: {text}")
"""
MODELS = """
import importlib, pathlib, pkgutil
for package in map(importlib.import_module, ("pipeline", "datasets", "tasks")):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
import numpy as np, pandas as pd
from pipeline import Accelerated, OutputLocked, explain, load, save
from pipeline.system.atomic import locked
from sklearn import compose, linear_model, pipeline, preprocessing
X = pd.DataFrame({"n": np.sin(range(300)), "c": ["a", "b", "b"] * 100})
program = pipeline.make_pipeline(
    compose.make_column_transformer(
        (preprocessing.StandardScaler(), ["n"]), (preprocessing.OneHotEncoder(), ["c"])
    ),
    linear_model.LogisticRegression(),
)
model = Accelerated(program, device="cpu").fit(X, (X.n > 0) ^ (X.c == "a"))
for _ in range(2):  # the second one takes the place of the first one
    loaded = load(save(model, "model"), device="cpu")
X.assign(y=X.n > 0).to_csv("table.csv", index=False)
print(*(each.predict_proba(X).tolist() for each in (model, loaded)), sep="\\n")
print(explain(program, "cpu").to_dict())
with locked(pathlib.Path("model")):
    try:
        save(model, "model")
    except OutputLocked:
        print("locked")
"""
COMMANDS = """
import sys
from pipeline.cli.main import main
cancer = "breast_cancer --device cpu --pipelines logistic"
for line in ("list", "explain breast_cancer", "data breast_cancer", f"run {cancer}",
             f"run {cancer}", f"report {cancer} --repeats 3", "doctor", "models",
             "predict model table.csv out.csv", "new-task table.csv y"):
    sys.argv = ["pipeline", *line.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code, line
"""


def run(program: str, home: Path, windows: Path) -> str:
    """Return what a program prints in a folder that is not the repository."""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=home, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": f"{windows}{os.pathsep}{ROOT}", "CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_models_and_commands_need_nothing_that_only_posix_has(tmp_path: Path) -> None:
    windows, linux = tmp_path / "windows", tmp_path / "linux"
    for each in (windows, linux):
        shutil.copytree(ROOT / "tasks", each / "tasks")  # where `new-task` writes
    (windows / "sitecustomize.py").write_text(WINDOWS)
    run(PROBES, windows, windows)
    found = run(MODELS, windows, windows)
    model, loaded, _, refused = found.splitlines()
    assert (model, refused) == (loaded, "locked")
    assert found == run(MODELS, linux, linux)
    said = run(COMMANDS, windows, windows)
    for word in ("results:", "report:", "predictions:", "task:", "logistic.model"):
        assert word in said


def test_every_name_is_there_on_windows(tmp_path: Path) -> None:
    """By the stubs of the standard library, which know the platforms of each name."""
    words = ("--platform", "win32", "--cache-dir", tmp_path, "pipeline", "tasks", "datasets")
    done = python("-m", "mypy", *words)
    assert done.code == 0, done.out
