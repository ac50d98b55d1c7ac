-- Remove the tracking of approvals: none expires any more. The events stay.

update foja.domain set guard = null where domain = 'conversation';
update foja.kind set tracked = false where domain = 'conversation' and tracked;
