// Package lint finds what can be known of a bundle before any call: the breaches of the
// load-time contract, rules that don't fit the tools' own input schemas, rules that are
// silent where a value is absent, tools and packages that miss each other, pins that
// drifted, and habits that cost or hide something.
//
// [Verify] looks at everything at once. A finding has a stable id, which docs/verify.md
// explains, a severity, a place, the tool that it is about and what to do. [Report] is
// written as text, as JSON or as SARIF 2.1.0.
//
// # Limits
//
// What is reported is certain; what isn't reported proves nothing. Rules are looked at
// for the tools that are given: a package for several tools is only said to miss an
// argument when none of them declares it, and a package for every tool only when it has
// the name nearly right. Tests have no part in decisions and are not looked at; of
// packages below data.system only the names of the rules are.
package lint
