package bundles

// A ConfigError says that what was configured can't be used, whatever a source holds.
// Each line of it begins with the key of the configuration that it is about.
type ConfigError struct{ Err error }

// Error implements error.
func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong, without the type.
func (e *ConfigError) Unwrap() error { return e.Err }
