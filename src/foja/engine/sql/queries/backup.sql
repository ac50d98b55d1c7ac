-- name: hold_purges
-- Let no object be purged until the end of this transaction.
lock table foja.purge_lock in share mode;

-- name: prepare_transfer
-- The same text of every value on every server, and no limit of time, until the end of the transaction.
select set_config(s.name, wanted.value, true) from (values
    ('client_encoding', 'UTF8'), ('datestyle', 'ISO, YMD'), ('intervalstyle', 'postgres'), ('timezone', 'UTC'),
    ('extra_float_digits', '3'), ('bytea_output', 'hex'), ('statement_timeout', '0'),
    ('idle_in_transaction_session_timeout', '0'), ('transaction_timeout', '0')
) wanted (name, value) join pg_settings s on lower(s.name) = wanted.name;

-- name: hidden_tables
-- Tables with row level security of which this login may not see every row: they have no policy of their owner's.
select c.oid::regclass::text from pg_class c
where c.relkind = 'r' and c.relnamespace in ('foja'::regnamespace, 'public'::regnamespace) and c.relrowsecurity
    and row_security_active(c.oid) and not exists (select from pg_policy p where p.polrelid = c.oid
        and p.polname = 'owner_works' and pg_get_expr(p.polqual, p.polrelid) = 'true'
        and exists (select from unnest(p.polroles) r where pg_has_role(r, 'usage')))
order by 1;

-- name: own_tables
-- Foja's tables with the columns to copy: all but the computed ones.
select n.nspname || '.' || c.relname, array(select a.attname::text from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and (n.nspname = 'foja' and c.relname <> 'migration'
    or n.nspname = 'public' and c.relname = any (%(public)s))
order by (n.nspname || '.' || c.relname) collate "C";

-- name: other_tables
-- Tables of others in this database.
select format('%%I.%%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'm') and n.nspname not in ('foja', 'information_schema') and n.nspname not like 'pg\_%%'
    and not (n.nspname = 'public' and c.relname = any (%(public)s)) order by 1;

-- name: own_sequences
-- The sequences of Foja's tables.
select s.schemaname || '.' || s.sequencename, coalesce(s.last_value, s.start_value), s.last_value is not null
from pg_sequences s where s.schemaname = 'foja' order by 1;

-- name: set_sequence
-- Continue a sequence where it was.
select setval(%(name)s::regclass, %(value)s, %(called)s);

-- name: copy_out
-- All rows of a table.
copy {table} ({columns}) to stdout;

-- name: copy_in
-- Rows of a table.
copy {table} ({columns}) from stdin;

-- name: forced_tables
-- Those of these tables whose owner is subject to their policies.
select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relforcerowsecurity and n.nspname || '.' || c.relname = any (%(tables)s) order by 1;

-- name: unforce_policies
-- Let the owner of a table write it whatever its policies say, until the end of the transaction.
alter table {table} no force row level security;

-- name: force_policies
-- Let the policies of a table bind its owner too.
alter table {table} force row level security;

-- name: clear_table
-- Remove what a schema step inserted; the backup has it, too.
delete from {table};

-- name: foreign_keys
-- The foreign keys of Foja's tables, with their definitions.
select n.nspname || '.' || c.relname, k.conname, pg_get_constraintdef(k.oid)
from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
where k.contype = 'f' and n.nspname || '.' || c.relname = any (%(tables)s) order by 1, 2;

-- name: drop_foreign_key
-- Load tables in any order.
alter table {table} drop constraint {name};

-- name: add_foreign_key
-- Check the loaded rows, and all later ones.
alter table {table} add constraint {name} {definition};

-- name: analyze_table
-- Let the planner know the loaded rows.
analyze {table};

-- name: renew_epoch
-- What continues from here is another history than the one that others may have seen since the backup.
update foja.installation set epoch = default;

-- name: published_notes
-- The newest published checkpoint of every log.
select distinct on (c.origin) c.origin, c.size, c.note from foja.checkpoint c
where c.published_at is not null order by c.origin, c.size desc;

-- name: stored_objects
-- The objects whose bytes are in the store: live ones, and those in quarantine, which can be restored.
select foja.object_path(o.sha256, o.generation) from foja.object o
where o.state = 'live' or o.state = 'quarantined' and o.claimed_at is null
order by foja.object_path(o.sha256, o.generation) collate "C";

-- name: transfer_size
-- How many objects there are to copy, and about how many bytes with all tables: for a progress bar.
select (select count(*) from foja.object o where o.state = 'live' or o.state = 'quarantined' and o.claimed_at is null),
    (select coalesce(sum(o.size), 0)::bigint from foja.object o where o.state = 'live')
    + (select sum(pg_table_size(c.oid))::bigint from pg_class c where c.relnamespace = 'foja'::regnamespace and c.relkind = 'r');
