// Package validatortest proves that a validator keeps the contract of
// [policy.Validator], with calls that it makes from the tool's own schema.
//
//	func TestContract(t *testing.T) {
//		validatortest.Run(t, validatortest.Options{Tool: spec, Validator: v, Refused: []string{`{"path": "/etc/shadow"}`}})
//	}
//
// Each fact is a subtest of that name:
//
//   - samples: what Options.Allowed and Options.Refused say is so;
//   - missing required, wrong type, out of range, pattern violation, undeclared
//     property: behind a gate such a call is refused and the validator isn't asked; and
//     where the schema is not enforced, which doesn't turn validators off, it answers
//     and doesn't fall over (with Options.Standalone it also has to refuse);
//   - pre-cancelled context: asked in a context that has ended it comes back, and
//     doesn't let through what it refuses otherwise;
//   - concurrent use, idempotence: the same call has the same answer, whatever was asked
//     before or is asked at the same time (run it with -race);
//   - no mutation: it changes neither the call nor what others see of it;
//   - panic, never-returns, empty refusal: none of these, for any call.
//
// A fact that can't be shown, because the schema has nothing to violate or a sample is
// missing, is skipped with the reason.
//
// # Limits
//
// Arguments are made for the keywords that tools use. Where they satisfy the schema only
// by luck (a pattern that none of a list of usual texts matches, a condition), give
// some in Options.Allowed. A validator that never returns leaves its goroutine behind.
// That a validator refuses the right calls is for tests of its own.
package validatortest
