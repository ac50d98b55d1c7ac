-- Remove the tracking of approvals: none expires any more. The events stay.

update foja.domain set guard = null where domain = 'conversation';
update foja.kind set tracked = false where domain = 'conversation' and tracked;
drop function foja.request_of;
drop table foja.approval_due, foja.approval_event;
drop function foja.expire_approval, foja.track_approvals, foja.track_approval, foja.moment, foja.moment_of;
