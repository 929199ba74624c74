"""Documents as text: the program that meets a file's bytes, in a cage that sees this one file."""
