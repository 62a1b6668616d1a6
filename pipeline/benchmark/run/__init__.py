"""Runs of variants, each in a process of its own."""
