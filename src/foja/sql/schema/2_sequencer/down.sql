-- Without the sequencer events wait in the outbox; what was numbered and signed stays.

drop function foja.open_log, foja.number_pending, foja.halt_log, foja.record_checkpoint, foja.mark_published,
    foja.restart_log;
