package config

// Admin says where operators of run and serve may ask how the gate is.
type Admin struct {
	Listen string `mapstructure:"listen"` // HOST:PORT; "" for nowhere
	Access string `mapstructure:"access"` // loopback, any
}

func adminKeys() []Key {
	return []Key{
		{Name: "admin.listen", Type: Text, Effect: "HOST:PORT where run and serve answer GET /healthz, /readyz, /status and /metrics; left out: nowhere"},
		{Name: "admin.access", Type: Choice, Values: []string{"loopback", "any"}, Default: "loopback",
			Effect: "Which addresses admin.listen may be",
			Off:    "any: another address than loopback may be listened on, without TLS, and whoever reaches it reads the status and the measurements"},
	}
}
