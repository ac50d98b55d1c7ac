"""The pure part of jobs: what callers see of them."""
