"""What rules share: messages, scopes, and the changes that they advise."""
