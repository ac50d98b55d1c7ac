"""Subprocesses that read what strangers sent: they give up files, network, time and memory first."""
