-- Documents are not guarded any more; their events stay.

select foja.keep_rows('foja.ability', 'foja.document_summary');
update foja.domain set guard = null where domain = 'document';
update foja.kind set tracked = false where domain = 'document' and tracked;
