"""What others say of a log: cosigners of its checkpoints, monitors of its entries."""
