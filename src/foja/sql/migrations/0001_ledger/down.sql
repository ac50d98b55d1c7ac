-- The way back from the ledger is only open while nothing is in it.

do $$
begin
    if exists (select from foja.event) then
        raise exception 'events are never dropped' using hint = 'export the database instead';
    end if;
end $$;

drop aggregate foja.chain(bytea, uuid, bigint, uuid, text, timestamptz, bytea);
drop table foja.wakeup, foja.pending, foja.unsealed, foja.slot, foja.event, foja.entity, foja.kind, foja.domain,
    foja.installation cascade;
drop function foja.utf16_order, foja.canonical_float, foja.canonical_number, foja.canonical,
    foja.refuse, foja.body_hash, foja.genesis, foja.chain_step, foja.chain_on, foja.acting_role,
    foja.check_source, foja.body_problem, foja.replay, foja.append, foja.lock_entities, foja.record_batch,
    foja.append_batch, foja.batch_receipts, foja.reserve, foja.extend, foja.record_at, foja.void_slot, foja.fill,
    foja.void, foja.expire_slots, foja.seal, foja.seal_ready, foja.new_salt, foja.new_id, foja.rotate, foja.sha1,
    foja.event_id_for, foja.append_event, foja.forbid_change, foja.allow_erasure, foja.erase, foja.recognise;
drop type foja.receipt;
