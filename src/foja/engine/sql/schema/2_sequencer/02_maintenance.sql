-- One process at a time seals, numbers, publishes and sweeps; the others need not repeat it. Nothing relies on that:
-- two that do it at once take turns, as two sequencers always did.

create table foja.maintenance (
    only_one boolean primary key default true check (only_one),
    worker uuid,                                         -- the process that does it
    lease_until timestamptz not null default '-infinity' -- after that, another one may
);

insert into foja.maintenance default values;

-- Take the lease, or extend it; returns whether this process has it now. It waits for no lock and for no disk: a lease
-- that a crash forgets is taken again.
create function foja.lease_maintenance(p_worker uuid, p_seconds double precision) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('sweeper');
    if p_worker is null or (p_seconds between 0 and 10) is not true then
        perform foja.refuse('bad_payload', 'the maintenance is leased to a process, for 0 to 10 seconds');
    end if;
    perform set_config('synchronous_commit', 'off', true);
    perform from foja.maintenance m where m.worker = p_worker
        or m.lease_until not between clock_timestamp() and clock_timestamp() + interval '10 seconds'  -- also if it was set back
    for no key update skip locked;
    if not found then
        return false;
    end if;
    update foja.maintenance set worker = p_worker, lease_until = clock_timestamp() + make_interval(secs => p_seconds);
    return true;
end $$;
