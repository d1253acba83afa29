"""What devlint knows about torch: device signatures as data, and the few functions data cannot describe."""
