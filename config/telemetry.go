package config

// Telemetry says where the spans of decisions go.
type Telemetry struct {
	OTLP OTLP `mapstructure:"otlp"`
}

// OTLP names a server that takes spans. Without a URL there are none.
type OTLP struct {
	URL       string `mapstructure:"url"`
	TokenFile string `mapstructure:"token_file"`
	CAFile    string `mapstructure:"ca_file"`
	Sample    int    `mapstructure:"sample"`
}

func telemetryKeys() []Key {
	return []Key{
		{Name: "telemetry.otlp.url", Type: Text, Effect: "Send a span for each decision of run and serve to this URL, as OTLP (protobuf over HTTP), with /v1/traces appended unless it ends so; left out: no spans"},
		{Name: "telemetry.otlp.token_file", Type: File, Effect: "Bearer token for telemetry.otlp.url"},
		{Name: "telemetry.otlp.ca_file", Type: File, Effect: "Certificates, as PEM, that telemetry.otlp.url is trusted by, in place of the system's"},
		{Name: "telemetry.otlp.sample", Type: Count, Default: int64(1), Max: 1_000_000, Effect: "Of how many traces that begin at the gate one is kept; a caller's trace is kept when the caller keeps it"},
	}
}
