"""Threads of an agent's graph: checkpoints of its state, and writes on the way to the next one."""
