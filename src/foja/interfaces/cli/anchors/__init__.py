"""`foja anchors`: networks and their batches."""
