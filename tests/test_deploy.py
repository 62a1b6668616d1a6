"""The files of deploy/ agree with the project, its locks, its commands and each other."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.commands import parse
from tests.test_environment import PROCESSORS, PROJECT, holds, pins, versions

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
EXTRAS = {"cpu": {"serve"}, "cu13": set()}
IMAGES = {"gpu-pipeline:cpu": "Dockerfile", "gpu-pipeline:cuda": "Dockerfile.cuda"}
IGNORED = (ROOT / ".dockerignore").read_text().split()


def steps(name: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile: each word, and what is behind it."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / name).read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.partition(" ")[2]) for line in lines if line.strip()]


def load(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text())


@pytest.mark.parametrize("name", IMAGES.values())
def test_a_dockerfile_installs_what_is_locked_and_runs_without_rights(name: str) -> None:
    every = steps(name)
    last = max(number for number, (word, _) in enumerate(every) if word == "FROM")
    runs = " && ".join(rest for word, rest in every if word == "RUN").split(" && ")
    installs = [run for run in runs if run.strip().startswith("pip install")]
    assert len(installs) == 3
    assert all("--require-hashes" in each or "--no-index" in each for each in installs)
    assert "PIP_NO_DEPS=1" in str(every)
    for word, rest in every[:last]:
        for source in rest.split()[:-1] if word == "COPY" else ():
            assert (ROOT / source).exists()
            assert any(fnmatch.fnmatch(f"!{source}", each) for each in IGNORED), source
    final = dict(every[last:])
    assert final["COPY"].startswith("--from=build ")
    assert not re.search(r"\b(apt|apt-get|pip|gcc)\b", final["RUN"])
    assert final["USER"] == re.search(r"--uid (\d+)", final["RUN"])[1]
    assert json.loads(final["ENTRYPOINT"]) == [*PROJECT["project"]["scripts"]]


def test_the_two_dockerfiles_differ_in_their_locks_only() -> None:
    cpu, cuda = map(str, map(steps, IMAGES.values()))
    assert cpu.replace("image-cpu", "image-cu13").replace("the CPU", "an NVIDIA GPU") == cuda


@pytest.mark.parametrize("machine", PROCESSORS)
@pytest.mark.parametrize("extra", EXTRAS)
def test_the_lock_of_an_image_is_the_project_s_without_its_tools(extra: str, machine: str) -> None:
    locked = versions(f"image-{extra}", "3.12", machine)
    extras = PROJECT["project"]["optional-dependencies"]
    chosen = {extra, "cluster", "data", "explain", "tune"} | EXTRAS[extra]
    texts = [*PROJECT["project"]["dependencies"], *chain(*(extras[name] for name in chosen))]
    for wanted in map(Requirement, texts):
        if holds(wanted, "3.12", machine):
            assert wanted.specifier.contains(locked[canonicalize_name(wanted.name)])
    assert not {"hypothesis", "mypy", "pytest", "ruff"} & locked.keys()
    tested = {**versions("mlflow", "3.12", machine), **versions(extra, "3.12", machine)}
    assert locked.items() <= tested.items()
    assert {*pins(f"image-{extra}").values()} <= {*pins(extra).values(), *pins("mlflow").values()}


def test_the_server_is_reached_from_this_machine_only_and_writes_nothing() -> None:
    (service,) = load("compose.yaml")["services"].values()
    assert IMAGES[service["image"]] == Path(service["build"]["dockerfile"]).name
    port = service["command"][service["command"].index("--port") + 1]
    assert service["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert f"http://127.0.0.1:{port}/ping" in service["healthcheck"]["test"][-1]
    compile(service["healthcheck"]["test"][-1], "health", "exec")
    (volume,) = service["volumes"]
    assert volume["target"] == service["command"][service["command"].index("--model-uri") + 1]
    assert service["read_only"] is volume["read_only"] is True
    assert service["cap_drop"] == ["ALL"]


def test_skypilot_runs_the_image_that_it_builds() -> None:
    task = load("skypilot.yaml")
    assert task.keys() == {"name", "workdir", "resources", "envs", "setup", "run"}
    assert set(task["resources"]["accelerators"].values()) == {1}
    built = re.search(r"--file deploy/(\S+) --tag (\S+)", task["setup"])
    assert IMAGES[built[2]] == built[1]
    assert f" {built[2]} " in task["run"]
    assert all(name in task["run"] for name in task["envs"])


def test_dask_s_pods_have_the_image_and_the_ports_agree() -> None:
    cluster = load("dask-kubernetes.yaml")
    assert (cluster["apiVersion"], cluster["kind"]) == ("kubernetes.dask.org/v1", "DaskCluster")
    scheduler, worker = cluster["spec"]["scheduler"], cluster["spec"]["worker"]
    served, works = scheduler["spec"]["containers"][0], worker["spec"]["containers"][0]
    assert {served["image"], works["image"]} == {"gpu-pipeline:cuda"}
    assert served["command"] == ["dask", "scheduler"]
    assert works["command"] == ["dask", "cuda", "worker"]
    ports = {each["name"]: each["containerPort"] for each in served["ports"]}
    service = scheduler["service"]
    assert {each["targetPort"]: each["port"] for each in service["ports"]} == ports
    assert service["selector"]["dask.org/cluster-name"] == cluster["metadata"]["name"]
    assert served["readinessProbe"]["httpGet"]["port"] in ports
    assert works["resources"]["limits"]["nvidia.com/gpu"] == "1", "the schema wants text"
    text = (DEPLOY / "dask-kubernetes.yaml").read_text()
    assert f"tcp://127.0.0.1:{ports['tcp-comm']} --workers {worker['replicas']}" in text


FILES = ("compose.yaml", "skypilot.yaml", "dask-kubernetes.yaml", "../docs/deploy.md")


@pytest.mark.parametrize("name", FILES)
def test_every_command_is_one(name: str) -> None:
    text = (DEPLOY / name).read_text().replace("\\\n", " ")
    form = r"^#   gpu-pipeline (.*)|gpu-pipeline:(?:cpu|cuda) +((?:run|report) .*)"
    lines = re.findall(form, text, re.MULTILINE)
    assert lines
    for line in lines:
        parse(*shlex.split("".join(line)))
