"""Benchmarks of Foja and its peers: same server, workload and durability. `python -m bench`."""
