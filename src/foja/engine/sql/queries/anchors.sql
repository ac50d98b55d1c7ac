-- name: draft_number
-- The number of the type that events are sent in.
select 'foja.draft'::regtype::oid::bigint;

-- name: anchor_candidates
-- For each job of a submission: the state of its attempt, whether it was submitted, whether its evidence is confirmed,
-- the batch that may still confirm it, and when the attempt was to start.
select case when d.closed is null then a.state else d.closed end as state, a.submitted_seq is not null as submitted,
    exists (select from foja.attempt c where c.entity_id = asked.entity_id and c.evidence = %(network)s
        and c.witness_hash = asked.witness and c.state = 'confirmed') as confirmed,
    (select m.batch_id from foja.anchor_member m join foja.anchor_batch b on b.batch_id = m.batch_id
        where m.entity_id = asked.entity_id and m.network = %(network)s and m.witness_hash = asked.witness
            and b.status <> 'refused' limit 1) as batch,
    coalesce(v.payload ->> 'run_at', v.at::text) as starts
from unnest(%(entities)s::uuid[], %(witnesses)s::text[], %(attempts)s::integer[])
    with ordinality asked (entity_id, witness, attempt, place)
left join foja.attempt a on a.entity_id = asked.entity_id and a.evidence = %(network)s and a.witness_hash = asked.witness
    and a.attempt = asked.attempt
left join foja.event v on v.entity_id = a.entity_id and v.seq = a.asked_seq
left join foja.document d on d.entity_id = asked.entity_id
order by asked.place;

-- name: anchor_gathering
-- The moment, and when the network was flushed last.
select clock_timestamp() as now, nullif(n.flushed_at, '-infinity') as flushed_at
from foja.anchor_network n where n.network = %(network)s;

-- name: close_gathering
-- Let what waits for other digests be claimed now, if one is due or there are enough.
select foja.close_gathering_v1(%(network)s, %(size)s, %(seconds)s);

-- name: lease_anchor_account
-- Lease an account for one draft.
select token, nonce from foja.lease_anchor_account_v1(%(network)s, %(account)s, %(nonce)s, %(final)s, %(seconds)s);

-- name: release_anchor_account
-- Give an account back without a batch.
select foja.release_anchor_account_v1(%(network)s, %(account)s, %(token)s);

-- name: known_anchor_account
-- Whether the next nonce of an account is known without asking the nodes.
select 1 from foja.anchor_account a where a.network = %(network)s and a.account = %(account)s and not a.renew
    and exists (select from foja.anchor_batch b where b.network = a.network and b.account = a.account);

-- name: hold_anchors
-- Say why no new batch is made.
select foja.hold_anchors_v1(%(network)s, %(reason)s);

-- name: create_anchor_batch
-- Store a batch, record its submissions, end their jobs and queue its broadcast.
select verdict, jobs from foja.create_anchor_batch_v1(%(batch)s, %(network)s, %(account)s, %(lease)s, %(nonce)s, %(root)s,
    %(leaves)s, %(salts)s, %(state)s::jsonb, %(max_fee)s, %(cap)s, %(tenant)s, %(every)s, %(jobs)s::bigint[],
    %(tokens)s::uuid[], %(entities)s::uuid[], %(witnesses)s::text[], %(attempts)s::integer[], %(drafts)s);

-- name: claim_anchors
-- Lease batches that are due, or one of them.
select batch_id as batch, root, size, account, nonce, state, created_at, status, told, outcome, confirmed_at, token
from foja.claim_anchors_v1(%(network)s, %(limit)s, %(seconds)s, %(batch)s);

-- name: note_anchor
-- Store what was found about a batch.
select foja.note_anchor_v1(%(batch)s, %(token)s, %(status)s, %(state)s::jsonb, %(seconds)s, %(detail)s, %(outcome)s::jsonb,
    %(confirmed_at)s, %(trust)s::text[], %(fee)s, %(spent)s, %(max_fee)s, %(cap)s);

-- name: anchor_leaves
-- The leaves and salts of a batch.
select leaves, salts from foja.anchor_batch where batch_id = %(batch)s;

-- name: anchor_members
-- The digests of a batch, in the order of its leaves.
select decode(witness_hash, 'hex') from foja.anchor_member where batch_id = %(batch)s order by index;

-- name: anchor_endings
-- The events that a part of a batch still needs.
select index as place, entity_id, tenant, witness_hash as witness, attempt, late
from foja.anchor_endings(%(batch)s, %(from)s, %(to)s);

-- name: tell_anchor
-- Append the events of a part of a batch.
select foja.tell_anchor_v1(%(batch)s, %(token)s, %(from)s, %(to)s, %(drafts)s, %(seconds)s);

-- name: plan_anchors
-- Let the ticks of a network come at its next look.
select foja.plan_anchors_v1(%(network)s);

-- name: enable_network
-- Let documents require a network.
select foja.enable_network_v1(%(network)s);

-- name: disable_network
-- Let no document require a network any more.
select foja.disable_network_v1(%(network)s);

-- name: flush_anchors
-- Send what waits without waiting for more digests.
select foja.flush_anchors_v1(%(network)s);

-- name: anchored_place
-- The newest confirmed batch that holds a digest of a document, and its place there.
select b.batch_id as id, b.network, b.root, b.size, b.account, b.nonce, b.state, b.created_at, m.index as place, m.witness_hash as digest, b.trust
from foja.anchor_member m join foja.anchor_batch b on b.batch_id = m.batch_id
where m.entity_id = %(document)s and m.network = %(network)s and b.status = 'confirmed'
    and (%(witness)s::text is null or m.witness_hash = %(witness)s)
order by b.created_at desc limit 1;

-- name: anchored_trust
-- What our own nodes confirmed about the batches that hold digests of a document.
select b.trust from foja.anchor_member m join foja.anchor_batch b on b.batch_id = m.batch_id
where m.entity_id = %(document)s and b.status = 'confirmed' order by b.created_at;

-- name: anchor_batches
-- Batches as an operator sees them, newest first; of one network, of one state, or one batch.
select b.batch_id as id, b.network, b.status, b.size, encode(b.root, 'hex') as root, nullif(b.account, '') as account, b.nonce,
    b.max_fee, b.fee, b.created_at, b.confirmed_at, b.next_look, b.detail, coalesce(b.told, b.size) as told, b.outcome, b.trust, b.state
from foja.anchor_batch b
where (%(network)s::text is null or b.network = %(network)s) and (%(status)s::text is null or b.status = %(status)s)
    and (%(batch)s::uuid is null or b.batch_id = %(batch)s)
    and (%(before)s::uuid is null or (b.created_at, b.batch_id) <
        (select l.created_at, l.batch_id from foja.anchor_batch l where l.batch_id = %(before)s))
order by b.created_at desc, b.batch_id desc limit %(limit)s;

-- name: anchor_networks
-- Every network: whether it is enabled, why no batch is made, what waits, and what was or may be spent in 24 hours.
select n.network, exists (select from foja.ability a where a.evidence = n.network) as enabled, n.held, n.held_at,
    (select count(*) from foja.job j where j.type = 'submit_anchor_' || n.network and j.head and j.priority between 0 and 2
        and j.state in ('queued', 'retry_scheduled'))
    + (select count(*) from foja.job j where j.type = 'submit_anchor_' || n.network and j.state = 'running') as waiting,
    (select count(*) from foja.anchor_batch b where b.network = n.network and b.status in ('drafted', 'sent', 'reorged')) as pending,
    foja.anchor_spending(n.network) as spent
from foja.anchor_network n order by array_position(array['polygon', 'bitcoin', 'rekor'], n.network);

-- name: anchor_costs
-- What batches cost, by network and day.
select b.network, (b.created_at at time zone 'UTC')::date as day, count(*) as batches, sum(b.size)::bigint as digests,
    sum(coalesce(b.fee, 0)) as fee, sum(case when b.fee is null then b.max_fee else 0 end) as open_fee
from foja.anchor_batch b
where (%(network)s::text is null or b.network = %(network)s)
    and b.created_at > clock_timestamp() - make_interval(days => %(days)s)
group by 1, 2 order by 2 desc, 1;
