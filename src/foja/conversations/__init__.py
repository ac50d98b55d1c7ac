"""Conversations of people and agents: messages, tools, approvals."""
