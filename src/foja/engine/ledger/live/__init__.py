"""Following a stream as it grows: notifications, subscriptions, transient events."""
