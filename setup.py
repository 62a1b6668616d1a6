"""What pyproject.toml cannot say: in a wheel, the tasks and datasets are inside `pipeline`."""

from setuptools import find_namespace_packages, setup

included = find_namespace_packages(include=["tasks", "datasets", "datasets.*"])
folders = {f"pipeline.included.{name}": name.replace(".", "/") for name in included}
packages = find_namespace_packages(include=["pipeline", "pipeline.*"], exclude=["*__pycache__"])
setup(packages=[*packages, *folders], package_dir=folders)
