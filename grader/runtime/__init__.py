"""Runs one submission and records evidence: kernels, the sandbox, executors. It knows no key."""
