"""The defaults: servers that Foja brings along, so that nothing needs to be installed first."""
