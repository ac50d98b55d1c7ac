"""Foja and its peers on one server: same work, same durability, interleaved. `python -m bench`."""
