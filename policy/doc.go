// Package policy decides whether an agent may call a tool.
//
// A [Gate] answers one [Call] at a time, always in the same order:
//
//  1. is a [Ruleset] in force?                          no: not_ready
//  2. are the bytes one unambiguous JSON object?        no: malformed
//  3. is the tool one that its server declared?         no: unknown_tool
//  4. can its input schema be used, and do the
//     arguments satisfy it?                             no: schema_unusable, schema_violation
//  5. does anything cover the tool?                     no: unmapped
//  6. does its deny set, or a [Validator] written in
//     Go, hold anything against the call?               yes: denied
//
// A call is allowed only when every question was asked and answered without an
// objection. A question that could not be answered — an error, a panic, a
// deadline, an exhausted budget — refuses as undecided. A later question never
// sees what an earlier one refused. The zero Decision and the zero Gate refuse.
//
// The package knows nothing of Rego, of MCP or of configuration files: rules come
// in as a [Ruleset], tools as a [ToolSpec], and whoever calls, through the context.
//
// # Limits
//
// Steps 4 and 6 are bounded by step budgets, so that an answer doesn't depend on
// the load of the machine; [Options.Timeout] is a backstop behind them. A validator
// written in Go can't be stopped from outside: one that outlives the deadline is
// abandoned, and beyond [Options.MaxAbandoned] of them every call that needs a Go
// validator is undecided. A decision says nothing about what the tool will do with
// arguments that it was right to let through.
package policy
