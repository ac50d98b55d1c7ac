-- name: request_checkpoint_anchors
-- Request an anchor of the newest published checkpoint, where it is time.
select foja.request_checkpoint_anchors_v1(%(networks)s::text[], %(seconds)s, %(tenant)s);

-- name: anchored_checkpoints
-- Checkpoints in confirmed batches whose confirmation the installation's stream does not have yet.
select m.batch_id as batch, m.network, m.witness_hash as digest, j.payload ->> 'origin' as origin,
    (j.payload -> 'size')::bigint as size, b.confirmed_at
from foja.installation i join foja.anchor_member m on m.entity_id = i.installation_id
join foja.anchor_batch b on b.batch_id = m.batch_id and b.status = 'confirmed' and b.told is null
join foja.job j on j.entity_id = i.installation_id and j.type = 'submit_anchor_' || m.network
    and j.payload ->> 'witness_hash' = m.witness_hash
where not exists (select from foja.event v where v.entity_id = i.installation_id and v.kind = 'checkpoint.anchored'
    and v.payload ->> 'batch' = b.batch_id::text and (v.payload ->> 'confirmed_at')::timestamptz = b.confirmed_at);

-- name: record_anchored_checkpoint
-- Record that a network confirmed a checkpoint; the same confirmation is recorded once.
select foja.append_event(%(entity)s, 'system', 'checkpoint.anchored', %(payload)s::jsonb, 'sweeper',
    idempotency_key => %(key)s, tenant => 'system');

-- name: anchored_notes
-- The newest confirmation of each checkpoint by each network, with the note and the state of the batch.
select distinct on (p.size, p.network, p.log) l.origin, p.log, p.size, p.network, v.payload ->> 'sha256' as sha256,
    (v.payload ->> 'batch')::uuid as batch, (v.payload ->> 'confirmed_at')::timestamptz as confirmed_at, b.status, c.note
from foja.installation i
join foja.event v on v.entity_id = i.installation_id and v.kind = 'checkpoint.anchored'
cross join lateral (select v.payload ->> 'origin', (v.payload ->> 'size')::bigint, v.payload ->> 'network') p(log, size, network)
left join foja.log l on l.name = p.log
left join foja.checkpoint c on c.origin = l.origin and c.size = p.size
left join foja.anchor_batch b on b.batch_id::text = v.payload ->> 'batch'
order by p.size, p.network, p.log, v.seq desc;

-- name: recorded_keys
-- The keys of one purpose that the installation's stream has, and when each was recorded.
select v.payload ->> 'key_id', min(v.at) from foja.installation i
join foja.event v on v.entity_id = i.installation_id and v.kind = 'key.rotated' and v.payload ->> 'purpose' = %(purpose)s
group by 1;

-- name: tenants
-- Every tenant that has a stream. The installation's own stream, of `system`, belongs to none.
select distinct tenant from foja.entity where tenant <> 'system' order by tenant;
