-- name: sweeps_due
-- Whether a slot has expired, and whether events wait to be sealed. Usually neither.
select exists (select from foja.slot where state = 'open' and deadline <= clock_timestamp()),
    exists (select from foja.unsealed);

-- name: lease_maintenance
-- Take or extend the lease of the maintenance; whether this process has it.
select foja.lease_maintenance(%(worker)s, %(seconds)s);

-- name: seal_ready
-- Seal contiguous events, a bounded number.
select foja.seal_ready(%(streams)s, %(most)s);

-- name: expire_slots
-- Void expired slots.
select foja.expire_slots(%(streams)s);

-- name: open_log
-- The open log, created on first use.
select origin, name, next_idx as size, halted from foja.open_log(%(name)s);

-- name: name_log
-- Say which name and key the log of this installation has.
select foja.name_log_v1(%(name)s, %(key)b);

-- name: number_pending
-- Append the oldest sealed events to the log, unless it is halted.
select foja.number_pending(origin, %(most)s) from foja.open_log(%(name)s);

-- name: last_frontier
-- The tree at the newest checkpoint up to a size.
select frontier from foja.checkpoint
where origin = %(origin)s and size <= %(size)s order by size desc limit 1;

-- name: last_published
-- The size of the newest published checkpoint.
select size from foja.checkpoint
where origin = %(origin)s and published_at is not null order by size desc limit 1;

-- name: newest_note
-- The newest published checkpoint of the open log, as it was signed.
select c.note, c.origin, c.size from foja.checkpoint c join foja.log l on l.origin = c.origin and l.closed_size is null
where c.published_at is not null order by c.size desc limit 1;

-- name: published_checkpoint
-- The newest published checkpoint that covers a leaf.
select size, note from foja.checkpoint
where origin = %(origin)s and size > %(idx)s and published_at is not null order by size desc limit 1;

-- name: first_checkpoints
-- The leaf of each of these events in the newest log that has it, and the first published checkpoint that covers it.
select w.place, leaf.origin, leaf.idx, c.size, c.note
from unnest(%(entities)s::uuid[], %(seqs)s::bigint[]) with ordinality w(entity_id, seq, place)
cross join lateral (
    select l.origin, l.idx from foja.log o cross join lateral foja.find_leaf(o.origin, w.entity_id, w.seq) l
    where o.closed_size is null or l.idx < o.closed_size order by o.origin desc limit 1) leaf
cross join lateral (
    select size, note from foja.checkpoint
    where origin = leaf.origin and size > leaf.idx and published_at is not null order by size limit 1) c;

-- name: cosignatures
-- The cosignatures of a checkpoint, as lines of its note.
select coalesce(string_agg(line, '' order by public_key), '') from foja.cosignature
where origin = %(origin)s and size = %(size)s;

-- name: cosigned_checkpoint
-- The newest checkpoint that covers a leaf and that enough of these cosigners signed.
select c.size, c.note from foja.checkpoint c
where c.origin = %(origin)s and c.size = (
    select size from foja.cosignature
    where origin = %(origin)s and size > %(idx)s and public_key = any(%(keys)s::bytea[])
    group by size having count(*) >= %(required)s order by size desc limit 1);

-- name: first_cosigned
-- For each leaf, the first checkpoint that covers it and that enough of these cosigners signed.
select w.place, c.size, c.note
from unnest(%(origins)s::integer[], %(leaves)s::bigint[]) with ordinality w(origin, idx, place)
cross join lateral (
    select size from foja.cosignature
    where origin = w.origin and size > w.idx and public_key = any(%(keys)s::bytea[])
    group by size having count(*) >= %(required)s order by size limit 1) s
join foja.checkpoint c on c.origin = w.origin and c.size = s.size;

-- name: is_being_cosigned
-- Whether a checkpoint was published so recently that enough of these cosigners, those without a fault, may sign it.
select c.published_at > clock_timestamp() - make_interval(secs => %(seconds)s)
    and cardinality(%(keys)s::bytea[]) - (
        select count(*) from foja.cosigner k
        where k.origin = c.origin and k.public_key = any(%(keys)s::bytea[]) and k.fault is not null) >= %(required)s
from foja.checkpoint c where c.origin = %(origin)s and c.size = %(size)s;

-- name: cosigner_due
-- The checkpoint that a cosigner is asked for next, the size of that log that it signed last, and the time by the
-- database's clock: the last checkpoint of each closed log, so that it knows the head that the next log names, then
-- the newest published one of the open log. A closed log that it refused is not asked for again.
select l.origin, c.size, c.note, coalesce(k.seen, 0) as seen, extract(epoch from clock_timestamp())::bigint as now
from foja.log l cross join lateral (
    select size, note from foja.checkpoint
    where origin = l.origin and size <= coalesce(l.closed_size, size) and (published_at is not null or size = l.closed_size)
    order by size desc limit 1) c
left join foja.cosigner k on k.origin = l.origin and k.public_key = %(key)b
where c.size > coalesce(k.seen, 0) and (l.closed_size is null or coalesce(k.fault, 'away') = 'away')
order by l.origin limit 1;

-- name: record_cosignature
-- Store a cosignature of a published checkpoint.
select foja.record_cosignature(%(origin)s, %(size)s, %(key)b, %(vkey)s, %(line)s);

-- name: record_cosigner_fault
-- Store what is wrong with a cosigner.
select foja.record_cosigner_fault(%(origin)s, %(key)b, %(vkey)s, %(fault)s, %(detail)s);

-- name: cosigners
-- Every cosigner of every log, and its state.
select origin, vkey as key, seen as cosigned, fault, detail, since from foja.cosigner order by origin, vkey;

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

-- name: resume_log
-- Go on after a halt for this reason, which has ended.
select foja.resume_log(%(origin)s, %(reason)s);

-- name: restart_log
-- Close the log at a proven size and open the next one, in a new epoch.
select origin, name, next_idx as size, halted from foja.restart_log(%(origin)s, %(name)s, %(consistent)s);

-- name: find_leaf
-- The leaf of an event, in the newest log that has it.
select o.origin, l.idx
from foja.log o cross join lateral foja.find_leaf(o.origin, %(entity)s, %(seq)s) l
where o.closed_size is null or l.idx < o.closed_size
order by o.origin desc limit 1;

-- name: installation
-- The id and epoch of this installation, and the type id of a draft in its database.
select installation_id, epoch, 'foja.draft'::regtype::oid::bigint from foja.installation;

-- name: id_key
-- The key with which ids are derived from what others could guess.
select key from foja.id_key;

-- name: logs
-- Every log of this installation, oldest first.
select origin, name, next_idx as size, closed_size, halted,
    (select max(size) from foja.checkpoint c where c.origin = l.origin and published_at is not null) as published,
    (select coalesce(sum(cardinality(seq)), 0)::bigint from foja.pending) as waiting
from foja.log l order by origin;

-- name: halted_logs
-- The open log, if it is halted.
select origin from foja.log where halted is not null and closed_size is null;
