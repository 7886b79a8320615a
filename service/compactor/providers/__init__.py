"""What asks a model or a tokenizer."""
