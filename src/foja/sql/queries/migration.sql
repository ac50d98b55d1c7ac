-- name: wait_for_locks
-- Give up on a lock after this time, for the rest of the session.
select set_config('lock_timeout', %(timeout)s, false);

-- name: try_migration_lock
-- Take the migration lock if it is free; the number spells "foja".
select pg_try_advisory_lock(1718577761);

-- name: await_migration_lock
-- Wait for the migration lock.
select pg_advisory_lock(1718577761);

-- name: migration_table
-- Whether any migration was ever recorded here.
select to_regclass('foja.migration') is not null;

-- name: event_table
-- Whether there is a ledger.
select to_regclass('foja.event') is not null;

-- name: count_events
-- How many events there are, counted up to a limit.
select count(*) from (select from foja.event limit %(most)s) e;

-- name: create_migration_table
-- Where the migrations of this database are recorded.
create schema if not exists foja;
create table foja.migration (
    number integer primary key check (number > 0),
    name text not null,
    digest text not null,
    applied_at timestamptz not null default now()
);

-- name: applied_migrations
-- What was done to this database, in order.
select number, name, digest, applied_at from foja.migration order by number;

-- name: record_migration
-- One more step was taken.
insert into foja.migration (number, name, digest) values (%(number)s, %(name)s, %(digest)s);

-- name: forget_migration
-- The last step was taken back.
delete from foja.migration where number = %(number)s;
