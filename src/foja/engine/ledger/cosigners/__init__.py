"""Cosigners of this installation's log: their settings, and how their signatures are collected."""
