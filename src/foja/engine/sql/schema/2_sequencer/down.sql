-- Remove the sequencer's functions. Events then wait in the outbox; leaves and checkpoints stay.

drop function foja.open_log, foja.number_pending, foja.halt_log, foja.resume_log, foja.record_checkpoint, foja.mark_published,
    foja.record_cosignature, foja.record_cosigner_fault, foja.restart_log, foja.lease_maintenance, foja.check_log_name,
    foja.name_log_v1, foja.check_cosignature, foja.check_cosigner_key, foja.check_checkpoint, foja.signature_of, foja.base64, foja.tree_root, foja.grow_tree, foja.is_signed,
    foja.add_points, foja.curve_point, foja.field_power, foja.little_number;
drop table foja.maintenance;
