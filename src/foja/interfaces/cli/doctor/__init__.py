"""The verb `foja doctor`: what is set, what answers, what would fail."""
