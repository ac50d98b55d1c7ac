"""The texts of the pages of those who operate an installation."""
