-- Who may do what with anchors. A function for workers checks the source itself. No tenant reads these tables: a batch
-- holds digests of all tenants.

grant select on foja.anchor_network, foja.anchor_account, foja.anchor_batch, foja.anchor_member
    to foja_worker, service_role, foja_reader;
grant execute on function
    foja.lease_anchor_account_v1, foja.release_anchor_account_v1, foja.hold_anchors_v1, foja.create_anchor_batch_v1,
    foja.claim_anchors_v1, foja.note_anchor_v1, foja.anchor_endings, foja.tell_anchor_v1, foja.plan_anchors_v1,
    foja.close_gathering_v1
    to foja_worker;
grant execute on function foja.anchor_spending to foja_worker, service_role, foja_reader;
grant execute on function foja.anchor_obstacles_v1, foja.is_anchoring_v1 to service_role, foja_api, foja_reader;
-- All tenants share a network: no request may switch it.
grant execute on function foja.flush_anchors_v1, foja.enable_network_v1, foja.disable_network_v1 to service_role, foja_operator;
