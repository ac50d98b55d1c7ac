"""The workers of images."""
