"""Who may do what: principals, scopes and how they are recognised."""
