-- Without the log its leaves go back to the outbox, in order, so that numbering
-- them again gives every event the same place.

do $$
begin
    if (select count(*) from foja.log) > 1 then
        raise exception 'a log that was restarted cannot be folded back' using hint = 'stay at this version';
    end if;
end $$;

with waiting as (
    delete from foja.pending returning id, entity_id, seq, chain_hash
)
insert into foja.pending (entity_id, seq, chain_hash)
select entity_id, seq, chain_hash from (
    select 0 as turn, idx as place, entity_id, seq, chain_hash from foja.leaf
    union all
    select 1, id, entity_id, seq, chain_hash from waiting
) again order by turn, place;

drop function foja.open_log, foja.number_pending, foja.halt_log, foja.record_checkpoint, foja.mark_published,
    foja.restart_log;
drop table foja.checkpoint, foja.leaf, foja.log;
drop function foja.allow_publication;
