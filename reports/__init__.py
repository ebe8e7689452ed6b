"""What a person sees: all words and numbers are decided in the model, then rendered."""
