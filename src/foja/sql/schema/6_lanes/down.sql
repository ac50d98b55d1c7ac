-- Without the first lane PostgreSQL numbers everything; a stream that Redis numbered is claimed by the next append.

drop function foja.move_lane, foja.may_move, foja.lane_append, foja.lane_receipt, foja.lane_reserve,
    foja.void_holes, foja.streams_with_holes, foja.holes, foja.waiting;
drop type foja.reservation;
revoke execute on function foja.claim_lanes from service_role, foja_api, foja_sweeper;
