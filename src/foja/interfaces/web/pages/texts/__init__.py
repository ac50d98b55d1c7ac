"""The texts of the pages, in English and in Spanish: one table per page, and one that all share."""
