-- Back to a schema without anchors. What was sent is kept for the way up: it was paid for.

select foja.keep_rows('foja.anchor_network', 'foja.anchor_account', 'foja.anchor_batch', 'foja.anchor_member');
update foja.domain set guard = null where domain = 'system';
update foja.kind set tracked = false where domain = 'system' and tracked;

drop function foja.is_anchoring_v1, foja.anchor_obstacles_v1, foja.request_checkpoint_anchors_v1, foja.track_system, foja.disable_network_v1, foja.enable_network_v1, foja.flush_anchors_v1, foja.check_is_network, foja.close_gathering_v1,
    foja.hasten_submissions, foja.plan_anchors_v1, foja.tell_anchor_v1, foja.append_endings, foja.held_members, foja.confirm_attempts, foja.confirmation_problem, foja.anchor_endings, foja.note_anchor_v1,
    foja.claim_anchors_v1, foja.check_anchor_worker, foja.create_anchor_batch_v1, foja.record_submissions, foja.check_submissions, foja.lost_submissions, foja.plan_look, foja.anchor_allowance, foja.anchor_spending, foja.held_submissions,
    foja.unfit_submissions, foja.hold_anchors_v1, foja.release_anchor_account_v1, foja.lease_anchor_account_v1, foja.agreed_nonce, foja.free_nonce,
    foja.unused_nonce, foja.has_nonce;
drop table foja.anchor_member, foja.anchor_batch, foja.anchor_account, foja.anchor_network;
