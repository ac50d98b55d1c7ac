-- name: clock
-- The time of the database, which is the reference for all others.
select clock_timestamp();

-- name: backend
-- The process of the server that serves this connection.
select pg_backend_pid();

-- name: act_for
-- Act for a tenant until the end of the transaction. Without it, the role of requests reads and writes nothing.
select set_config('foja.tenant', %(tenant)s, true);

-- name: act_as
-- Act as a role, and give up on a lock after this time, for the rest of the session.
select set_config('role', %(role)s, false), set_config('lock_timeout', %(lock_timeout)s, false);
