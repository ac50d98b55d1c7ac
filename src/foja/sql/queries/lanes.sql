-- name: prepare_lane_append
-- One event at a number that Redis gave.
prepare lane_append as
select foja.lane_append($1, $2, $3);

-- name: prepare_lane_reserve
-- Numbers that Redis gave, for events that do not exist yet. It need not wait for the disk.
prepare lane_reserve (uuid, text, text, text, integer, double precision, text[], bigint, uuid) as
with unhurried as materialized (select set_config('synchronous_commit', 'off', true))
select foja.lane_reserve($1, $2, $3, $4, $5, make_interval(secs => $6), $7, $8, $9) from unhurried;

-- name: lane_state
-- Who numbers a stream, and since when.
select fence, run_id, next_seq, extract(epoch from clock_timestamp() - moved_at)::double precision, false, 0
from foja.entity where entity_id = %(entity)s and domain = %(domain)s and tenant = %(tenant)s;

-- name: move_lane
-- Another fence for a stream. It need not wait for the disk: whoever writes under the new fence does.
with unhurried as materialized (select set_config('synchronous_commit', 'off', true))
select fence, run_id, next_seq, age, moved, voided from unhurried, foja.move_lane(
    %(entity)s, %(domain)s, %(tenant)s, %(source)s, %(seen)s, %(lane)s, %(run)s, make_interval(secs => %(rest)s));

-- name: claim_lanes
-- Let PostgreSQL number these streams.
select foja.claim_lanes(%(entities)s);

-- name: void_holes
-- Void the numbers that were given and never used.
select foja.void_holes(%(streams)s, make_interval(secs => %(age)s));
