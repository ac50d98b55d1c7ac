"""HTTP routes of `/v1/products`: galleries, their images and the variants of these."""
