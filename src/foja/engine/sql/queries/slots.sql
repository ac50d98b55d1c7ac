-- name: prepare_reserve
-- Numbers for events that do not exist yet. Alone in its transaction, it need not wait for the disk.
prepare reserve (uuid, text, text, integer, double precision, text[], text) as
with setting as materialized (
    select set_config('synchronous_commit', 'off', true), set_config('foja.tenant', $7, true) as tenant)
select row('reserved'::text, r.first_seq, r.token, r.deadline) from setting, foja.reserve(
    $1, $2, setting.tenant, $3, $4, make_interval(secs => $5), $6, p_claim => false) r;

-- name: extend
-- More time for the numbers still open.
select foja.extend(%(entity)s, %(tenant)s, %(token)s, make_interval(secs => %(ttl)s));

-- name: fill
-- An event at a number reserved for it.
select status, detail, seq, at, body_hash, sealed, result
from foja.fill(%(draft)s::foja.draft, %(seq)s, %(token)s);

-- name: void
-- A number given back, with the reason.
select status, detail, seq, at, body_hash, sealed, result
from foja.void(%(entity)s, %(domain)s, %(tenant)s, %(seq)s, %(token)s, %(source)s, %(reason)s, %(actor)s);

-- name: stream_gaps
-- How many numbers of a stream were given and voided.
select count(*) from foja.voided where entity_id = %(entity)s and tenant = %(tenant)s;

-- name: most_gaps
-- The streams with the most voided numbers, each with its count and that of all streams.
select entity_id, count(*) as gaps, (sum(count(*)) over ())::bigint as total from foja.voided
where %(tenant)s::text is null or tenant = %(tenant)s
group by entity_id order by 2 desc, 1 limit %(limit)s;
