package report

// Serving is what is to be told of a gate that serves HTTP.
type Serving struct {
	URL      string   `json:"url"`      // of the endpoint, as clients know it
	Address  string   `json:"address"`  // that is listened on
	Server   string   `json:"server"`   // what is behind the gate: a URL or a command
	Identity string   `json:"identity"` // none, jwt, headers
	Resource string   `json:"resource"` // own, same
	TLS      bool     `json:"tls"`
	Clients  bool     `json:"client_certificates"` // must have certificates
	Exposed  bool     `json:"exposed"`             // other machines can reach it
	Hosts    []string `json:"hosts"`               // that clients may call it by; nil for loopback ones
}

// Serving says how a gate can be reached, and loudly what is not protected about it.
func (r *Report) Serving(s Serving) {
	if s.Exposed && !s.TLS {
		r.log.Error("LISTENING BEYOND THIS MACHINE WITHOUT TLS: whoever is on the network CAN READ AND CHANGE calls and tokens", "address", s.Address)
	}
	if s.Exposed && s.Identity == "none" && !s.Clients {
		r.log.Warn("NOBODY IS AUTHENTICATED: whoever reaches the address can call", "address", s.Address, "identity.source", s.Identity)
	}
	if s.Resource == "same" {
		r.log.Warn("clients' tokens are sent on to the server", "upstream.resource", s.Resource)
	}
	hosts := any("loopback")
	if s.Hosts != nil {
		hosts = s.Hosts
	}
	r.log.Info("serving", "url", s.URL, "address", s.Address, "server", s.Server, "tls", s.TLS, "client_certificates", s.Clients,
		"identity", s.Identity, "hosts", hosts)
}
