-- Remove the Redis lane. PostgreSQL numbers everything; the next append claims a stream that Redis numbered.

revoke execute on function foja.claim_lanes from service_role, foja_api, foja_sweeper, foja_worker;
