-- Remove the names of the seed; the events stay.

drop view public.sequence_counters, public.message_events;
drop function public.reserve_sequence_batch, foja.insert_message, foja.is_given, foja.acting_tenant, foja.fill_event;
