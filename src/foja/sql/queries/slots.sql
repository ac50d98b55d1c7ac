-- name: prepare_reserve
-- Numbers for events that do not exist yet. Alone in its transaction, it need not wait for the disk.
prepare reserve (uuid, text, text, text, integer, double precision, text[]) as
with unhurried as materialized (select set_config('synchronous_commit', 'off', true))
select row('reserved'::text, r.first_seq, r.token, r.deadline) from unhurried, foja.reserve(
    $1, $2, $3, $4, $5, make_interval(secs => $6), $7, p_claim => false) r;

-- name: extend
-- More time for the numbers still open.
select foja.extend(%(entity)s, %(tenant)s, %(token)s, make_interval(secs => %(ttl)s));

-- name: fill
-- An event at a number reserved for it.
select status, detail, seq, at, body_hash, sealed
from foja.fill(%(draft)s::foja.draft, %(seq)s, %(token)s);

-- name: void
-- A number given back, with the reason.
select status, detail, seq, at, body_hash, sealed
from foja.void(%(entity)s, %(domain)s, %(tenant)s, %(seq)s, %(token)s, %(source)s, %(reason)s);

-- name: stream_gaps
-- How many numbers of a stream were given and voided.
select count(*) from foja.event
where entity_id = %(entity)s and tenant = %(tenant)s and kind = 'slot.voided';

-- name: most_gaps
-- The streams with the most voided numbers, each with its count and that of all streams.
select entity_id, count(*), (sum(count(*)) over ())::bigint from foja.event
where kind = 'slot.voided' and (%(tenant)s::text is null or tenant = %(tenant)s)
group by entity_id order by 2 desc, 1 limit %(limit)s;
