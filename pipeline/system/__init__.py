"""The machine: devices, memory, threads, and files that are written completely or not at all."""
