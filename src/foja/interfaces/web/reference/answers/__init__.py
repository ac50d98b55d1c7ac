"""The bodies of successful answers, as OpenAPI describes them. Answers are not built from these classes."""
