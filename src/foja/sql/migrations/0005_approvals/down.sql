-- Nothing expires any more; what was asked and decided stays.

drop trigger event_approval on foja.event;
drop index foja.event_approvals;
drop table foja.approval_due;
drop function foja.expire_approval, foja.track_approval, foja.moment;
