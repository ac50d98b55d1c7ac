"""HTTP routes of `/v1/streams`: streams of any registered domain, and what all streams have in common."""
