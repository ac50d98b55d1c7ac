-- name: has_ledger
-- Whether the tables of the ledger and its log exist.
select to_regclass('foja.event') is not null and to_regclass('foja.leaves') is not null;

-- name: fsck_total
-- The approximate number of rows to check, without reading them.
select coalesce((select sum(greatest(next_seq, sealed)) from foja.entity), 0)::bigint
    + coalesce((select sum(next_idx) from foja.log), 0)::bigint;

-- name: fsck_kinds
-- The registered kinds, and whether their bodies may be erased.
select domain, kind, v, erasable from foja.kind;

-- name: fsck_entities
-- The counters of every stream, in order, or of one stream.
select entity_id, domain, tenant, lane, foja.next_seq(e) as next_seq, sealed, head from foja.entity e
where %(only)s::uuid is null or entity_id = %(only)s order by entity_id;

-- name: fsck_events
-- Every event in the order of its stream, and whether its erasure was recorded. The time is in microseconds, or
-- null if it is infinite. The erased number is compared as text, because the payload may be forged.
select v.entity_id, v.seq, v.event_id, v.kind, v.v,
    case when isfinite(v.at) then (extract(epoch from v.at) * 1000000)::bigint end as at_us,
    v.actor, v.source, v.payload::text as payload, v.salt, v.body_hash, v.idempotency_key as key, v.tenant,
    v.payload is null and exists (select from foja.event witness where witness.entity_id = v.entity_id
        and witness.event_id = foja.erasure_id(v.entity_id, v.seq) and witness.kind = 'body.erased'
        and witness.payload ->> 'seq' = v.seq::text) as witnessed
from foja.event v where %(only)s::uuid is null or v.entity_id = %(only)s order by v.entity_id, v.seq;

-- name: fsck_places
-- Everything else that is recorded about a number of a stream: leaf, outbox, unsealed, slot.
select entity_id, seq, 'leaf' as what, origin, idx, chain_hash from foja.leaf where %(only)s::uuid is null
union all
select l.entity_id, l.seq, 'leaf', b.origin, l.idx, l.chain_hash
from foja.leaf_place p join foja.leaves b on b.origin = p.origin and b.idx = p.idx
cross join lateral foja.unbundle(b) l
where p.entity_id = %(only)s and l.entity_id = p.entity_id
union all
select u.entity_id, u.seq, 'pending', null, row_number() over (order by p.id, u.place), u.chain_hash
from foja.pending p
cross join lateral unnest(p.entity_id, p.seq, p.chain_hash) with ordinality u(entity_id, seq, chain_hash, place)
where %(only)s::uuid is null or u.entity_id = %(only)s
union all
select entity_id, seq, 'unsealed', null, null, null from foja.unsealed
where %(only)s::uuid is null or entity_id = %(only)s
union all
select entity_id, seq, state, null, null, null from foja.slot
where %(only)s::uuid is null or entity_id = %(only)s
order by 1, 2;

-- name: fsck_leaves
-- The leaves of one log, in order.
select l.idx, l.entity_id, l.seq, l.chain_hash from foja.leaves b cross join lateral foja.unbundle(b) l
where b.origin = %(origin)s order by b.idx, l.idx;

-- name: fsck_leaf_places
-- Streams that foja.leaf_place does not find in their bundle, or names in a bundle without them.
select coalesce(p.entity_id, held.entity_id), coalesce(p.seq, held.seq), p.idx, held.idx
from (select u.entity_id, l.origin, l.idx, min(u.seq) as seq
    from foja.leaves l cross join lateral unnest(l.entity_id, l.seq) u(entity_id, seq)
    where l.origin = %(origin)s group by u.entity_id, l.origin, l.idx) held
full join (select * from foja.leaf_place where origin = %(origin)s) p
    on p.entity_id = held.entity_id and p.idx = held.idx and p.seq = held.seq
where p.idx is null or held.idx is null order by 1, 2 limit 1;

-- name: fsck_checkpoints
-- The checkpoints of one log, in order.
select size, root, frontier, note from foja.checkpoint where origin = %(origin)s order by size;

-- name: fsck_cosignatures
-- Every cosignature, with its checkpoint and the key of its cosigner.
select s.origin, s.size, c.note, s.line, k.vkey
from foja.cosignature s
left join foja.checkpoint c on c.origin = s.origin and c.size = s.size
left join foja.cosigner k on k.origin = s.origin and k.public_key = s.public_key
order by s.origin, s.size, s.public_key;

-- name: fsck_last_leaf
-- The last event of a stream among the first leaves of a log.
select l.seq, l.idx, l.chain_hash
from (select idx from foja.leaf_place where entity_id = %(entity)s and origin = %(origin)s and idx < %(size)s
    order by seq desc limit 2) bundle  -- in the last one, the leaves of this stream may be beyond `size`
join foja.leaves b on b.origin = %(origin)s and b.idx = bundle.idx cross join lateral foja.unbundle(b) l
where l.entity_id = %(entity)s and l.idx < %(size)s order by l.seq desc limit 1;

-- name: fsck_batches
-- Every batch of digests, oldest first.
select batch_id, network, root, size from foja.anchor_batch order by created_at, batch_id;

-- name: fsck_members
-- The digests of a batch as they are stored, in the order of its leaves.
select index, witness_hash from foja.anchor_member where batch_id = %(batch)s order by index;

-- name: fsck_anchored
-- Every recorded anchor of a checkpoint, with the checkpoint and the batch that it names.
select v.entity_id, v.seq, v.payload ->> 'sha256' as digest, c.note, v.payload ->> 'network' as network, b.network as sent, b.status,
    exists (select from foja.anchor_member m where m.batch_id = b.batch_id and m.entity_id = v.entity_id
        and m.network = b.network and m.witness_hash = v.payload ->> 'sha256') as member
from foja.installation i
join foja.event v on v.entity_id = i.installation_id and v.kind = 'checkpoint.anchored'
left join foja.log l on l.name = v.payload ->> 'origin'
left join foja.checkpoint c on c.origin = l.origin
    and c.size = case when v.payload ->> 'size' ~ '^\d{1,18}$' then (v.payload ->> 'size')::bigint end
left join foja.anchor_batch b on b.batch_id::text = v.payload ->> 'batch'
where v.payload is not null order by v.seq;

-- name: fsck_anchored_members
-- Every checkpoint in a batch, with the note that was requested to be anchored.
select m.batch_id, m.witness_hash, c.note
from foja.installation i join foja.anchor_member m on m.entity_id = i.installation_id
left join foja.job j on j.entity_id = m.entity_id and j.type = 'submit_anchor_' || m.network
    and j.payload ->> 'witness_hash' = m.witness_hash
left join foja.log l on l.name = j.payload ->> 'origin'
left join foja.checkpoint c on c.origin = l.origin and c.size = (j.payload -> 'size')::bigint
order by m.batch_id, m.index;
