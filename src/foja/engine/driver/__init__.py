"""PostgreSQL access: connections, pipelines, pools, binary encoding, errors. No SQL."""
