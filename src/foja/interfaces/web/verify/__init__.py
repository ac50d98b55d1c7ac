"""HTTP route of `/v1/verify`: the judge in a limited subprocess."""
