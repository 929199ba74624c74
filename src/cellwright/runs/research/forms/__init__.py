"""Forms a research is written in, as texts that its outliner and writers read."""
