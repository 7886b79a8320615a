"""The border between the contract's messages and the values inside: nothing else knows both."""
