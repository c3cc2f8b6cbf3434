package config

// DecisionLog says how decisions are recorded, and where. Without a file, standard error
// or a URL there is no log.
type DecisionLog struct {
	File        string  `mapstructure:"file"`
	Stderr      bool    `mapstructure:"stderr"`
	URL         string  `mapstructure:"url"`
	TokenFile   string  `mapstructure:"token_file"`
	CAFile      string  `mapstructure:"ca_file"`
	Arguments   string  `mapstructure:"arguments"` // masked, digest, none, full
	KeyFile     string  `mapstructure:"key_file"`
	Required    bool    `mapstructure:"required"`
	Labels      []Label `mapstructure:"labels"`
	MaxBytes    int64   `mapstructure:"max_bytes"`
	Keep        int     `mapstructure:"keep"`
	QueueBytes  int64   `mapstructure:"queue_bytes"`
	BufferBytes int64   `mapstructure:"buffer_bytes"`
}

// A Label is one label of every record.
type Label struct {
	Name  string `mapstructure:"name"`
	Value string `mapstructure:"value"`
}

func decisionLogKeys() []Key {
	return []Key{
		{Name: "decision_log.file", Type: File, Effect: "Append one record per decision to this file, as JSON lines; without a file, stderr or a url there is no decision log"},
		{Name: "decision_log.stderr", Type: Flag, Default: false, Effect: "Write the records to standard error"},
		{Name: "decision_log.url", Type: Text, Effect: "Send the records to OPA's decision log API: gzipped JSON arrays, posted to this URL with /logs appended unless it ends so"},
		{Name: "decision_log.token_file", Type: File, Effect: "Bearer token for decision_log.url"},
		{Name: "decision_log.ca_file", Type: File, Effect: "Certificates, as PEM, that decision_log.url is trusted by, in place of the system's"},
		{Name: "decision_log.arguments", Type: Choice, Values: []string{"masked", "digest", "none", "full"}, Default: "masked",
			Effect: "How a call's arguments are recorded: without what looks like a secret, as a keyed digest, or not at all",
			Off:    "full: arguments are recorded as they are, secrets included"},
		{Name: "decision_log.key_file", Type: File, Effect: "The key of the digests, at least 16 bytes; without one a new key is made at each start"},
		{Name: "decision_log.required", Type: Flag, Default: false, Effect: "true refuses a call, as undecided, whose decision can't be masked or finds no room in the buffer"},
		{Name: "decision_log.labels", Type: Objects, Effect: "Labels of every record, which say what gate it was", Fields: []Key{
			{Name: "name", Type: Text, Required: true, Effect: "The label's name; id identifies the gate, and is random without one"},
			{Name: "value", Type: Text, Required: true, Effect: "The label's value"},
		}},
		{Name: "decision_log.max_bytes", Type: Bytes, Default: int64(100 << 20), Max: 1 << 40, Effect: "Size from which on the file is rotated: FILE.1, FILE.2, …"},
		{Name: "decision_log.keep", Type: Count, Default: int64(10), Max: 10_000, Effect: "Rotated files that are kept"},
		{Name: "decision_log.queue_bytes", Type: Bytes, Default: int64(64 << 20), Max: 16 << 30, Effect: "Memory for decisions that wait to be written down; more are dropped and counted"},
		{Name: "decision_log.buffer_bytes", Type: Bytes, Default: int64(16 << 20), Max: 16 << 30, Effect: "Records that wait for a slow sink; more are dropped and counted"},
	}
}
