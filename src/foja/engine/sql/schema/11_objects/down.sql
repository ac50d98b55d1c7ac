-- Back to a schema that knows no objects. The bytes stay in the store, and the events that name them.

select foja.keep_rows('foja.object', 'foja.unstaged', 'foja.orphan_run', 'public.image_orphan_candidates');
update foja.domain set guard = 'track_documents' where domain = 'document';
revoke execute on function foja.as_uuid from foja_worker, service_role, foja_reader;
revoke execute on function foja.acting_tenant from foja_operator;

drop trigger object_erased on foja.event;
drop view public.vw_image_orphan_candidates_metrics;
drop function foja.orphan_days, foja.plan_orphan_scans_v1, foja.record_orphan_run_v1, foja.restore_object_v1, foja.record_purge_v1,
    foja.claim_object_v1, foja.claim_orphans_v1, foja.begin_purge, foja.adopt_strays, foja.quarantine_orphans_v1, foja.orphan_deadline,
    foja.unstage_referred_v1, foja.unstage, foja.stage_strays_v1, foja.insert_candidates, foja.stage_orphans_v1, foja.is_referred,
    foja.rebuild_references_v1, foja.insert_references, foja.forget_objects, foja.guard_documents, foja.refer_documents, foja.refer_artifacts, foja.refer_objects, foja.has_kept, foja.check_transcript, foja.document_references,
    foja.is_outdated, foja.document_objects, foja.whole_number, foja.end_all_references, foja.end_references, foja.release_objects,
    foja.refer_many, foja.refer_object, foja.may_refer, foja.has_bytes, foja.finish_object_v1, foja.begin_object_v1, foja.object_path;
drop table foja.purge_lock, foja.orphan_run, foja.unstaged, public.image_orphan_candidates, foja.object_reference, foja.object_upload, foja.object;
