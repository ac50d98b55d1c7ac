-- What may be said. `foja.conversations.events` and `foja.threads.events` say the same; a test compares them.

insert into foja.domain (domain) values ('conversation'), ('thread');

insert into foja.kind (domain, kind, v, sources, required, erasable, reserved) values
    ('conversation', 'user_message_sent', 1, '{api}', '{"content": ["string", "array"]}', true, false),
    ('conversation', 'thinking', 1, '{api}', '{"content": ["string", "array"]}', true, false),
    ('conversation', 'agent_message_sent', 1, '{api}', '{"content": ["string", "array"]}', true, false),
    ('conversation', 'tool_use_requested', 1, '{api}',
        '{"tool_use_id": ["string"], "tool_name": ["string"], "tool_args": ["object"]}', true, false),
    ('conversation', 'tool_use_completed', 1, '{api}',
        '{"tool_use_id": ["string"], "tool_name": ["string"], "tool_result": ["any"], "success": ["boolean"],
          "error_message": ["string", "null"]}', true, false),
    ('conversation', 'approval_requested', 1, '{api}',
        '{"approval_id": ["string"], "tool_name": ["string"], "tool_args": ["object"], "expires_at": ["string"]}',
        false, false),
    ('conversation', 'approval_completed', 1, '{api,sweeper}',
        '{"approval_id": ["string"], "decision": ["string"], "reason": ["string", "null"]}', false, false),
    ('conversation', 'turn_paused', 1, '{api}', '{"reason": ["string"]}', false, false),
    ('conversation', 'content_refused', 1, '{api}', '{"reason": ["string"]}', false, false),
    ('conversation', 'slot.voided', 1, '{api,sweeper}', '{"reason": ["string"]}', false, true),
    ('conversation', 'body.erased', 1, '{api}', '{"reason": ["string"], "seq": ["number"]}', false, true),
    ('thread', 'checkpoint.saved', 1, '{api}',
        '{"thread_id": ["string"], "ns": ["string"], "checkpoint_id": ["string"], "parent_id": ["string", "null"],
          "checkpoint": ["object"], "metadata": ["object"], "values": ["object"], "held": ["object"]}', true, false),
    ('thread', 'writes.saved', 1, '{api}',
        '{"ns": ["string"], "checkpoint_id": ["string"], "task_id": ["string"], "path": ["string"],
          "writes": ["array"]}', true, false),
    ('thread', 'values.saved', 1, '{api}',
        '{"ns": ["string"], "checkpoint_id": ["string"], "values": ["object"]}', true, false),
    ('thread', 'slot.voided', 1, '{api,sweeper}', '{"reason": ["string"]}', false, true),
    ('thread', 'body.erased', 1, '{api}', '{"reason": ["string"], "seq": ["number"]}', false, true);

update foja.kind set keyed_by = '{approval, approval_id}' where kind = 'approval_completed';
