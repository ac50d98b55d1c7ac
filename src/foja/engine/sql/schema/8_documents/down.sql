-- Documents are not guarded any more; their events stay.

select foja.keep_rows('foja.ability', 'foja.document_summary');
update foja.domain set guard = null where domain = 'document';
update foja.kind set tracked = false where domain = 'document' and tracked;

drop trigger document_erased on foja.event;
drop view public.document_entities;
drop function public.append_document_entity_event, foja.envelope_problem, foja.envelope, foja.forget_document, foja.is_given_up, foja.rebuild_summaries, foja.write_summaries,
    foja.wake_stalled, foja.expire_attempts, foja.timeout_payload, foja.timeout_kind, foja.track_documents, foja.track_together, foja.admit_documents, foja.request_documents, foja.add_documents, foja.finalize_documents, foja.confirm_timestamps, foja.confirm_each, foja.document_at, foja.is_each_once, foja.track_document, foja.apply_document_event, foja.check_predecessor, foja.as_uuid, foja.rebuild_documents, foja.queue_lost_attempts, foja.lost_attempts, foja.rebuild_document, foja.tracked, foja.check_ability, foja.track_lifecycle, foja.check_signed, foja.is_rendition, foja.signature_problem,
    foja.track_finalization, foja.plan_renewals, foja.track_attempt_end, foja.track_submission, foja.track_failure, foja.track_confirmation, foja.end_attempt,
    foja.find_attempt, foja.check_network, foja.open_attempts, foja.track_attempt, foja.check_turn, foja.evidence_asked,
    foja.attempt_number, foja.is_required, foja.supersede_attempts, foja.artifact_problem, foja.job_of,
    foja.check_retry, foja.track_request, foja.check_growth, foja.find_request,
    foja.evidence_problem, foja.check_witness, foja.check_live, foja.missing_evidence, foja.is_confirmed, foja.stage_rank, foja.is_hash,
    foja.index_document, foja.words_of;
drop table foja.document_word, foja.document_summary, foja.attempt, foja.document, foja.ability;
