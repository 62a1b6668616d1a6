"""A stand-in for `rmm.mr`: the resource that memory for new arrays is taken from."""

from __future__ import annotations

from types import ModuleType


class CudaMemoryResource:
    """A `cudaMalloc` an array: what RMM starts with."""


class CudaAsyncMemoryResource:
    """A pool."""


class Module(ModuleType):
    """The stand-in of the module `rmm.mr`."""

    CudaMemoryResource = CudaMemoryResource
    CudaAsyncMemoryResource = CudaAsyncMemoryResource

    def __init__(self) -> None:
        super().__init__("rmm.mr")
        self._current: object = CudaMemoryResource()

    def get_current_device_resource(self) -> object:
        """Return the resource of the device."""
        return self._current

    def set_current_device_resource(self, mr: object) -> None:
        """Take memory from another resource from now on."""
        self._current = mr


def modules() -> dict[str, ModuleType]:
    """Return the modules by name."""
    return {"rmm": ModuleType("rmm"), "rmm.mr": Module()}
