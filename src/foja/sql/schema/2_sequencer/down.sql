-- Remove the sequencer's functions. Events then wait in the outbox; leaves and checkpoints stay.

drop function foja.open_log, foja.number_pending, foja.halt_log, foja.record_checkpoint, foja.mark_published,
    foja.record_cosignature, foja.record_cosigner_fault, foja.restart_log, foja.lease_maintenance;
drop table foja.maintenance;
