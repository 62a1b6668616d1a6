"""A stand-in for `rmm.mr`: the resource that memory for new arrays is taken from."""

from __future__ import annotations

from types import ModuleType


class CudaMemoryResource:
    """A `cudaMalloc` an array: what RMM starts with."""


class CudaAsyncMemoryResource:
    """A pool."""


class Module(ModuleType):
    CudaMemoryResource = CudaMemoryResource
    CudaAsyncMemoryResource = CudaAsyncMemoryResource

    def __init__(self) -> None:
        super().__init__("rmm.mr")
        self._current: object = CudaMemoryResource()

    def get_current_device_resource(self) -> object:
        return self._current

    def set_current_device_resource(self, mr: object) -> None:
        self._current = mr


def modules() -> dict[str, ModuleType]:
    return {"rmm": ModuleType("rmm"), "rmm.mr": Module()}
