-- name: append
-- One event, one round trip, one transaction.
select status, detail, seq, at, body_hash, sealed from foja.append(
    %(entity)s, %(domain)s, %(tenant)s, %(kind)s, %(v)s, %(event)s, %(actor)s, %(source)s, %(payload)s,
    %(salt)b, %(hash)b, %(key)s, %(expected)s);

-- name: replay
-- The stored result of an event that was there before.
select status, detail, seq, at, body_hash, sealed from foja.replay(
    %(entity)s, %(kind)s, %(v)s, %(event)s, %(actor)s, %(source)s, %(payload)s);

-- name: append_batch
-- Many events in one call, with a verdict for each.
select status, detail, seq, at, body_hash, sealed from foja.append_batch(
    %(entity)b::uuid[], %(domain)b::text[], %(kind)b::text[], %(v)b::integer[], %(event)b::uuid[],
    %(actor)b::text[], %(payload)b::text[], %(salt)b::bytea[], %(hash)b::bytea[], %(key)b::text[],
    %(expected)b::bigint[], %(source)s, %(tenant)s, %(atomic)s);

-- name: erase
-- Forget one body; its hash and every proof stay.
select status, detail, seq, at, body_hash, sealed
from foja.erase(%(entity)s, %(tenant)s, %(seq)s, %(source)s, %(actor)s, %(reason)s);

-- name: recognise
-- The epoch of this history, renewed if the server is another one than last time.
select foja.recognise();
