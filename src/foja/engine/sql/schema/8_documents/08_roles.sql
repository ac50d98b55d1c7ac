-- Who may do what with documents. The roles of their sources are made when the domain is registered; a function that
-- one source alone may call checks that source itself.

revoke execute on function public.append_document_entity_event from public;
grant select on foja.ability, public.document_entities to foja_worker, service_role, foja_api, foja_reader, authenticated;
grant execute on function foja.envelope to foja_worker, authenticated, service_role, foja_api, foja_reader;
grant execute on function public.append_document_entity_event to foja_worker, service_role, foja_api, foja_sweeper;
grant execute on function foja.expire_attempts, foja.wake_stalled to foja_sweeper;
grant execute on function foja.job_of, foja.is_given_up to foja_worker, service_role, foja_api, foja_reader;
grant execute on function foja.lost_attempts, foja.as_uuid to foja_worker, service_role, foja_reader;
grant execute on function foja.write_summaries, foja.rebuild_summaries, foja.rebuild_documents, foja.queue_lost_attempts
    to foja_worker;
select foja.share_rows('foja.document', 'foja_api, authenticated');
select foja.share_rows('foja.attempt', 'foja_api');
select foja.share_rows('foja.document_summary', 'foja_api, authenticated');
select foja.restrict_functions();

-- Documents that were written before this step.
select foja.rebuild_document(e.entity_id) from foja.entity e where e.domain = 'document';
