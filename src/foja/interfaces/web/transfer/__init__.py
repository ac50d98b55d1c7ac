"""Bytes of any size in and out: bodies as files, forms, files with ranges."""
