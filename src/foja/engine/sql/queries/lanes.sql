-- name: prepare_lane_append
-- Append one event at a number from Redis.
prepare lane_append as
select foja.lane_append($1, $2, $3) where set_config('foja.tenant', $4, true) is not null;

-- name: prepare_lane_reserve
-- Reserve numbers from Redis for later events. It need not wait for the disk.
prepare lane_reserve (uuid, text, text, integer, double precision, text[], bigint, uuid, text) as
with setting as materialized (
    select set_config('synchronous_commit', 'off', true), set_config('foja.tenant', $9, true) as tenant)
select foja.lane_reserve($1, $2, tenant, $3, $4, make_interval(secs => $5), $6, $7, $8) from setting;

-- name: lane_state
-- The fence of a stream, its run of Redis, and its age.
select fence, run_id, next_seq, extract(epoch from clock_timestamp() - moved_at)::double precision as age
from foja.entity where entity_id = %(entity)s and domain = %(domain)s and tenant = %(tenant)s;

-- name: move_lane
-- Give a stream a new fence. It need not wait for the disk: the first append under the new fence does.
with setting as materialized (select set_config('synchronous_commit', 'off', true))
select fence, run_id, next_seq, age, moved, voided from setting, foja.move_lane(
    %(entity)s, %(domain)s, %(tenant)s, %(source)s, %(seen)s, %(lane)s, %(run)s, make_interval(secs => %(rest)s));

-- name: claim_lanes
-- Move these streams to the PostgreSQL lane.
select foja.claim_lanes(%(entities)s);

-- name: void_holes
-- Void the numbers that were given and never used.
select foja.void_holes(%(streams)s, make_interval(secs => %(age)s));
