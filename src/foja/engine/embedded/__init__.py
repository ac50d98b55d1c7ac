"""Embedded servers, so that nothing else has to be installed first."""
