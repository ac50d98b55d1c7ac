-- The way back from the ledger is only open while nothing is in it.

do $$
begin
    if exists (select from foja.event) then
        raise exception 'events are never dropped' using hint = 'export the database instead';
    end if;
end $$;
