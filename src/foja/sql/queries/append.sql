-- name: append
-- One event, one round trip, one transaction.
select status, detail, seq, at, body_hash, sealed from foja.append(
    %(entity)s, %(domain)s, %(tenant)s, %(kind)s, %(v)s, %(event)s, %(actor)s, %(source)s, %(payload)s,
    %(salt)b, %(hash)b, %(key)s, %(expected)s);

-- name: append_batch
-- Many events in one call, with a verdict for each.
select status, detail, seq, at, body_hash, sealed from foja.append_batch(
    %(entity)s::uuid[], %(domain)s::text[], %(kind)s::text[], %(v)s::integer[], %(event)s::uuid[],
    %(actor)s::text[], %(payload)s::text[], %(salt)s::bytea[], %(hash)s::bytea[], %(key)s::text[],
    %(expected)s::bigint[], %(source)s, %(tenant)s, %(atomic)s);

-- name: erase
-- Forget one body; its hash and every proof stay.
select status, detail, seq, at, body_hash, sealed
from foja.erase(%(entity)s, %(tenant)s, %(seq)s, %(source)s, %(actor)s, %(reason)s);

-- name: recognise
-- The epoch of this history, renewed if the server is another one than last time.
select foja.recognise();
