"""Minimal ASGI applications beside the main one: a timestamp authority and a cosigner."""
