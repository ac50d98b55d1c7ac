"""The verb `foja alerts`."""
