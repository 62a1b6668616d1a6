"""The machine: devices, memory, threads, files that appear whole or not at all."""
