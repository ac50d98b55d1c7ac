-- Back to a schema that knows no objects. The bytes stay in the store, and the events that name them.

select foja.keep_rows('foja.object', 'foja.unstaged', 'foja.orphan_run', 'public.image_orphan_candidates');
update foja.domain set guard = 'track_documents' where domain = 'document';
