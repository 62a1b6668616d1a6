"""The GPU path, run on stand-ins and held to the real RAPIDS packages. See docs/gpu.md."""
