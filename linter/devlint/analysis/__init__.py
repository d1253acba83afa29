"""The abstract interpreter: executes IR over the device domain and records facts."""
