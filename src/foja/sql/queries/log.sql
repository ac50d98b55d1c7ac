-- name: sweeps_due
-- Whether a slot has expired, and whether events wait to be sealed. Usually neither.
select exists (select from foja.slot where state = 'open' and deadline <= clock_timestamp()),
    exists (select from foja.unsealed);

-- name: seal_ready
-- Seal contiguous events, a bounded number.
select foja.seal_ready(%(streams)s, %(most)s);

-- name: expire_slots
-- Void expired slots.
select foja.expire_slots(%(streams)s);

-- name: open_log
-- The open log, created on first use.
select origin, name, next_idx, halted from foja.open_log(%(name)s);

-- name: number_pending
-- Append the oldest sealed events to the log, unless it is halted.
select foja.number_pending(origin, %(most)s) from foja.open_log(%(name)s);

-- name: last_checkpoint
-- The newest checkpoint up to a size.
select size, root, frontier from foja.checkpoint
where origin = %(origin)s and size <= %(size)s order by size desc limit 1;

-- name: last_published
-- The newest published checkpoint.
select size, root from foja.checkpoint
where origin = %(origin)s and published_at is not null order by size desc limit 1;

-- name: published_checkpoint
-- The newest published checkpoint that covers a leaf.
select size, note from foja.checkpoint
where origin = %(origin)s and size > %(idx)s and published_at is not null order by size desc limit 1;

-- name: first_checkpoint
-- The first published checkpoint that covers a leaf.
select size, note from foja.checkpoint
where origin = %(origin)s and size > %(idx)s and published_at is not null order by size limit 1;

-- name: leaves
-- A range of leaves, in order.
select entity_id, seq, chain_hash from foja.leaves_between(%(origin)s, %(low)s, %(high)s) order by idx;

-- name: record_checkpoint
-- Store a signed checkpoint before it is published.
select foja.record_checkpoint(%(origin)s, %(size)s, %(root)b, %(frontier)b, %(note)s);

-- name: mark_published
-- Mark a checkpoint as published.
select foja.mark_published(%(origin)s, %(size)s);

-- name: halt_log
-- Stop numbering and signing.
select foja.halt_log(%(origin)s, %(reason)s);

-- name: restart_log
-- Close the log at a proven size and open the next one, in a new epoch.
select origin, name, next_idx, halted from foja.restart_log(%(origin)s, %(name)s, %(consistent)s);

-- name: find_leaf
-- The leaf of an event, in the newest log that has it.
select o.origin, o.name, l.idx, l.chain_hash
from foja.log o cross join lateral foja.find_leaf(o.origin, %(entity)s, %(seq)s) l
where o.closed_size is null or l.idx < o.closed_size
order by o.origin desc limit 1;

-- name: installation
-- The id and epoch of this installation, and the type id of a draft in its database.
select installation_id, epoch, 'foja.draft'::regtype::oid::bigint from foja.installation;

-- name: logs
-- Every log of this installation, oldest first.
select origin, name, next_idx, closed_size, halted,
    (select max(size) from foja.checkpoint c where c.origin = l.origin and published_at is not null),
    (select coalesce(sum(cardinality(seq)), 0)::bigint from foja.pending) as waiting
from foja.log l order by origin;
