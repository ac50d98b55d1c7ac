"""What operators need of a web process: probes, metrics, and the measure of every request."""
