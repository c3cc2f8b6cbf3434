// Package telemetry measures decisions with OpenTelemetry: what was decided, how long it
// took, how things stand with the policy, and one span per decision.
//
//	recorder, err := telemetry.New(telemetry.Options{Meters: meterProvider, Tracers: tracerProvider})
//	gate, err := policy.NewGate(policy.Options{Recorder: recorder})
//
// It is the adapter of OpenTelemetry's API and uses the providers that it is given,
// never the global ones. Package scrape beside it serves the measurements to Prometheus.
//
// The instruments, and their attributes:
//
//	regogate.decisions                       server, tool, code ("allowed" for none), effective ("forwarded", "refused")
//	regogate.decision.duration               effective; seconds
//	regogate.decision.phase.duration         phase ("parse", "schema", "policy"); seconds
//	regogate.decision.warnings               server, tool; decisions about which a warn set had something to say
//	regogate.policy.ready                    1 when a ruleset is in force
//	regogate.policy.shadow                   1 in shadow mode
//	regogate.bundle.info                     revision; always 1
//	regogate.bundle.age                      seconds since the revision in force was put in force
//	regogate.bundle.unconfirmed              seconds since its sources last had it
//	regogate.bundle.activations              rulesets put in force
//	regogate.bundle.activation.failures      reason ("refused", "unreachable")
//	regogate.decision_log.dropped            reason ("no_room", "not_masked", "sink")
//
// A span is called regogate.decide. It continues the span of the context that the call
// was decided in, and otherwise the trace that [policy.WithTraceparent] has put there.
//
// # Limits
//
// No attribute repeats anything of a call but the name of a tool that its server
// declares: no argument, caller, session or id that a client chose, no message and no
// error. Tools are told apart up to [Options.MaxTools], the first ones seen; what comes
// later is "(other)", and a tool that nobody declares "(unknown)".
//
// Record returns at once when the span processor of the application does: have it batch.
package telemetry
