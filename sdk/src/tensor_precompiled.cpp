// Exists only because the precompiled header needs a target with a source.
