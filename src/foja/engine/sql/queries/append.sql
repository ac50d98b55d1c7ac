-- name: prepare_append
-- One event, one round trip, one transaction. Like every prepared statement that acts for a tenant, it takes the tenant as
-- its last value and sets it first: a statement of its own for that would cost as much as a check of the body.
prepare append as
select foja.append($1) where set_config('foja.tenant', $2, true) is not null;

-- name: prepare_replay
-- The stored result of an event that was there before.
prepare replay as
select foja.replay($1) where set_config('foja.tenant', $2, true) is not null;

-- name: await_standbys
-- Return once the standbys that the server waits for have everything that is recorded.
select foja.await_standbys();

-- name: prepare_append_drafts
-- Many events in one call, with a verdict for each.
prepare append_drafts as
select foja.append_drafts($1, $2, $3) where set_config('foja.tenant', $4, true) is not null;

-- name: erase
-- Forget one body; its hash and every proof stay.
select status, detail, seq, at, body_hash, sealed, result
from foja.erase(%(entity)s, %(domain)s, %(tenant)s, %(seq)s, %(source)s, %(actor)s, %(reason)s);

-- name: erase_all
-- Forget some bodies of a stream, in order: all of them, or none.
select count(e) from unnest(%(seqs)s::bigint[]) with ordinality as wanted (seq, turn)
cross join lateral foja.erase(%(entity)s, %(domain)s, %(tenant)s, wanted.seq, %(source)s, null, %(reason)s) e;

-- name: recognise
-- The epoch of this history, renewed if the server is another one than last time.
select foja.recognise();

-- name: prepare_recognise
-- The same for a connection that writes: a server must be recognised before it numbers anything.
prepare recognise as select foja.recognise();
