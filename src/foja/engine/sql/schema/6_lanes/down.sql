-- Remove the Redis lane. PostgreSQL numbers everything; the next append claims a stream that Redis numbered.

drop function foja.move_lane, foja.may_move, foja.lane_append, foja.lane_receipt, foja.lane_reserve,
    foja.void_holes, foja.streams_with_holes, foja.holes, foja.waiting;
drop type foja.reservation;
revoke execute on function foja.claim_lanes from service_role, foja_api, foja_sweeper;
