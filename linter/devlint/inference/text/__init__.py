"""What is read in the text and not executed: which names functions use that are not their own."""
