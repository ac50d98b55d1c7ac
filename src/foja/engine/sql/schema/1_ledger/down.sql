-- The way back from the ledger is only open while nothing is in it.

do $$
begin
    if exists (select from foja.event) then
        raise exception 'events are never dropped' using hint = 'export the database instead';
    end if;
end $$;

drop function foja.keep_rows, foja.restore_rows, foja.append, foja.append_first, foja.replay, foja.refuse_for, foja.append_drafts, foja.record_drafts, foja.append_event, foja.batch_receipts, foja.body_problem, foja.check_size, foja.check_tenant_name, foja.erase,
    foja.check_reservation, foja.check_numbers, foja.claim_lanes, foja.shift_lane, foja.void_number, foja.next_seq, foja.need_read_committed, foja.lane_key, foja.refuse_lane,
    foja.expire_slots, foja.extend, foja.fill, foja.find_replay, foja.await_standbys, foja.forced_key, foja.is_sound, foja.has_sound_fields, foja.sound_payload, foja.unique_json, foja.refuse_json, foja.is_shallow, foja.nests_few, foja.is_exact, foja.has_short_numbers, foja.has_exact_numbers, foja.is_within_limits, foja.has_unique_keys, foja.lock_streams, foja.create_streams, foja.check_drafts, foja.check_each, foja.draft_problem,
    foja.lock_entity, foja.create_entity, foja.is_own_stream, foja.number_batch, foja.recognise, foja.record_at, foja.reserve, foja.seal,
    foja.seal_ready, foja.track, foja.events_at, foja.void, foja.void_slot, foja.void_draft, foja.new_draft, foja.queue_mixed, foja.leaves_between, foja.find_leaf,
    foja.chain_hash_of, foja.covered_events, foja.works_for_all, foja.may_act_for, foja.unknown_stream, foja.check_tenant;
drop view foja.leaf;
drop function foja.unbundle;
drop aggregate foja.chain(bytea, uuid, bigint, uuid, text, timestamptz, bytea);
drop table foja.kept, foja.cosignature, foja.cosigner, foja.checkpoint, foja.leaves, foja.leaf_place, foja.log, foja.pending, foja.woken, foja.unsealed, foja.slot, foja.voided, foja.event, foja.entity, foja.kind, foja.source, foja.domain,
    foja.installation, foja.id_key;
drop function foja.shape_of, foja.acting_role, foja.allow_erasure, foja.allow_publication, foja.body_hash, foja.canonical, foja.canonical_float,
    foja.canonical_number, foja.chain_on, foja.chain_step, foja.check_source, foja.erasure_id, foja.event_id_for, foja.derived_id, foja.forbid_change,
    foja.genesis, foja.new_id, foja.new_salt, foja.refuse, foja.shortest, foja.utf16_order;
drop type foja.receipt, foja.receipts, foja.streams, foja.checks, foja.batch, foja.draft;
drop domain foja.lane, foja.slot_state;
