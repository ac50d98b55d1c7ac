"""What a webhook may be, what it is sent and when: no clock, no socket."""
