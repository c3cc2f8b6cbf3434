// Package mutants has mistakes that somebody could make in regogate, one at a time,
// and the test that finds each. A mistake that no test finds is a hole in the tests.
//
//	REGOGATE_MUTANTS=1 go test -timeout 60m -v ./test/mutants
//
// puts each in a copy of its file (go test -overlay: the working tree isn't touched),
// runs the named test and fails for a mutant that survives. REGOGATE_MUTANTS_ONLY is a
// regular expression that chooses among them by name. Without the variable, only the
// table itself is checked.
//
// # Limits
//
// A mutant is killed when its test fails; whether for the right reason is for a reader
// to judge. Each costs a compilation of what depends on it.
package mutants

// A mutant is one mistake: a text that is in a file exactly once, and what it becomes.
type mutant struct {
	name          string
	file          string // from the top of the repository
	find, replace string
	pkg, test     string // what kills it
}

var table = []mutant{
	// policy: the order of questions.
	{"rules are asked before the schema", "policy/decide.go", "\tok = g.checkTool(cur.rules, in, d)\n\tw.lap(&w.took.Schema)\n\tif !ok {\n\t\treturn true\n\t}\n\tg.askRules(ctx, cur.rules, in, d)\n", "\tg.askRules(ctx, cur.rules, in, d)\n\tok = g.checkTool(cur.rules, in, d)\n\tw.lap(&w.took.Schema)\n\tif !ok {\n\t\treturn true\n\t}\n", "./policy", "TestOrderOfQuestions"},
	{"the schema's answer is ignored", "policy/decide.go", "\tok = g.checkTool(cur.rules, in, d)\n", "\tok = g.checkTool(cur.rules, in, d) || true\n", "./policy", "TestOrderOfQuestions"},
	{"malformed arguments lose their code", "policy/decide.go", "d.refuse(Malformed, agentText(err))\n\t\td.Err = fmt.Errorf(\"arguments", "d.Err = fmt.Errorf(\"arguments", "./policy", "TestOrderOfQuestions"},
	{"folded names are let through", "policy/decide.go", "\td.violations(Malformed, out.Malformed)\n", "", "./policy", "TestOrderOfQuestions"},
	{"violations are let through", "policy/decide.go", "\td.violations(SchemaViolation, out.Violations)\n", "", "./policy", "TestOrderOfQuestions"},
	{"a missing schema is no obstacle", "policy/decide.go", "if enforce && !t.spec.NoSchema {", "if false {", "./policy", "TestToolOfANoopGateIsRefusedByAnother"},
	{"no enforcement, no rules", "policy/decide.go", "\t\treturn viewOnly(in, d)\n", "\t\td.Allowed = true\n\t\treturn false\n", "./policy", "TestOrderOfQuestions"},
	{"no enforcement, folded names", "policy/decide.go", "if d.violations(Malformed, schema.FoldConflicts(in.view)); len(d.Refusals) > 0 {", "if false {", "./policy", "TestOrderOfQuestions"},
	// policy: what refuses.
	{"the zero gate decides", "policy/gate.go", "if g == nil || !g.ready {\n\t\td.Refusals", "if g == nil {\n\t\td.Refusals", "./policy", "TestZeroValuesRefuse"},
	{"an undeclared tool is like any other", "policy/decide.go", "\tif !t.Known() {\n", "\tif false {\n", "./policy", "TestZeroValuesRefuse"},
	{"an unlearned tool loses its code", "policy/decide.go", "if why := t.Unlearned(); why != nil {", "if why := t.Unlearned(); why != nil && false {", "./policy", "TestZeroValuesRefuse"},
	{"unmapped tools are allowed by default", "policy/decide.go", `g.options.Unmapped != "allow"`, `g.options.Unmapped == "never"`, "./policy", "TestUnmappedTools"},
	{"own_package is forgotten", "policy/decide.go", `case !own && g.options.OwnPackage == "require":`, `case !own && g.options.OwnPackage == "never":`, "./policy", "TestUnmappedTools"},
	{"rules that don't fit are skipped", "policy/decide.go", "case cov.Err != nil:", "case cov.Err != nil && false:", "./policy", "TestEveryCodeOfRulesRefuses"},
	{"a validator's error is dropped", "policy/decide.go", "\tif err != nil {\n\t\td.fail(err)\n\t}\n}", "}", "./policy", "TestEveryCodeOfRulesRefuses"},
	{"a validator's panic is swallowed", "policy/decide.go", "rs, err = nil, fmt.Errorf(\"%s: panic: %v\\n%s\", what, p, debug.Stack())", "rs, err = nil, nil", "./policy", "TestEveryCodeOfRulesRefuses"},
	{"an empty refusal is no refusal", "policy/decide.go", "\t\t\terr = errors.Join(err, errors.New(\"a refusal has no message\"))\n", "", "./policy", "TestEveryCodeOfRulesRefuses"},
	{"a deny set's objections are not taken", "policy/decide.go", "d.take(ask(ctx, \"deny set\", cov.Deny, shared))", "_, _ = ask(ctx, \"deny set\", cov.Deny, shared)", "./policy", "TestEveryCodeOfRulesRefuses"},
	{"an ended context is not looked at", "policy/decide.go", "if err := ctx.Err(); err != nil {\n\t\treturn fmt.Errorf(\"the call's context", "if err := ctx.Err(); err != nil && false {\n\t\treturn fmt.Errorf(\"the call's context", "./policy", "TestContextThatHasEndedIsUndecided"},
	{"caller.require is not looked at", "policy/decide.go", "if !in.caller.has(path) {", "if false {", "./policy", "TestCallerRequire"},
	{"the number of abandoned validators has no bound", "policy/decide.go", "if g.abandoned.Load() >= int64(g.options.MaxAbandoned) {", "if false {", "./policy", "TestGoValidatorThatNeverReturnsIsAbandoned"},
	{"shadow mode forwards everything", "policy/refusal.go", "\tdefault:\n\t\treturn false\n", "\tdefault:\n\t\treturn true\n", "./policy", "TestShadowForwardsOnlyWhatWasLookedAt"},
	{"shadow mode is always on", "policy/gate.go", "if mode == Shadow && !d.Allowed {", "if !d.Allowed {", "./policy", "TestEveryCodeOfRulesRefuses"},
	{"validators share one tree", "policy/input.go", "\tif in.shared {\n\t\treturn v\n\t}\n", "\tif v != nil {\n\t\treturn v\n\t}\n", "./policy", "TestValidatorCannotChangeAnything"},
	{"validators get the bytes themselves", "policy/input.go", "return bytes.Clone(a.raw)", "_ = bytes.Clone\n\treturn a.raw", "./policy", "TestValidatorCannotChangeAnything"},
	{"a replaced validator stays", "policy/register.go", "\t\tlist[i] = r\n", "\t\tlist = append(list, r)\n", "./policy", "TestASecondRegistrationReplacesTheFirstAndSaysSo"},
	{"a second name replaces the first validator", "policy/register.go", "return r.Name == other.Name && ", "return ", "./policy", "TestSeveralValidatorsOfOneTool"},
	// policy/strictjson: the bytes.
	{"a name given twice is a name", "policy/strictjson/parser.go", "\tcase with == text:\n\t\treturn p.fail(ReasonDuplicateName, start, \"\")\n", "\tcase with == text:\n\t\tp.names = append(p.names, added)\n\t\treturn nil\n", "./policy/strictjson", "TestRules"},
	{"names may differ by case only", "policy/strictjson/parser.go", "\tdefault:\n\t\treturn p.fail(ReasonConfusableNames, start, \"\")\n", "\tdefault:\n\t\tp.names = append(p.names, added)\n\t\treturn nil\n", "./policy/strictjson", "TestRules"},
	{"something may follow the value", "policy/strictjson/parser.go", "\tif len(rest) > 0 {\n", "\tif false {\n", "./policy/strictjson", "TestRules"},
	{"numbers may overflow", "policy/strictjson/parser.go", "\tif !inRange(raw) {\n", "\tif false && !inRange(raw) {\n", "./policy/strictjson", "TestRules"},
	{"nesting has no bound", "policy/strictjson/parser.go", "if len(p.open) >= p.limits.Depth {", "if len(p.open) >= maxDepth-1 {", "./policy/strictjson", "TestLimits"},
	{"size has no bound", "policy/strictjson/strictjson.go", "if len(data) > l.Bytes {", "if len(data) > 1<<40 {", "./policy/strictjson", "TestLimits"},
	// regoeval: answers of Rego.
	{"errors of built-ins are undefined", "regoeval/query.go", "case len(failures) > 0:", "case len(failures) > 1<<30:", "./regoeval", "TestErrorsHoldNoArgument"},
	{"a query without a result is no objection", "regoeval/query.go", "case count != 1:", "case count > 1:", "./regoeval", "TestUndefinedSetIsUndecided"},
	{"a panic of the engine is no objection", "regoeval/query.go", "result, err = nil, panicked(p)", "result, err = nil, nil", "./regoeval", "TestPanicIsUndecided"},
	{"a set may be anything", "regoeval/elements.go", "\t\treturn nil, fmt.Errorf(\"it is %s, not a set\", aKind(t.Value))\n", "\t\treturn nil, nil\n", "./regoeval", "TestElementsOfOtherKinds"},
	{"elements of other kinds are skipped", "regoeval/elements.go", "\t\treturn policy.Refusal{}, fmt.Errorf(\"an element is %s, not a string or an object with msg\", aKind(t.Value))\n", "\t\treturn policy.Refusal{Message: \"?\"}, nil\n", "./regoeval", "TestElementsOfOtherKinds"},
	{"an element may say nothing", "regoeval/elements.go", "if err == nil && r.Message == \"\" {", "if err != nil && r.Message == \"\" {", "./regoeval", "TestElementsOfOtherKinds"},
	{"steps are not counted", "regoeval/budget.go", "\tb.left--\n", "", "./regoeval", "TestStepsAreDeterministic"},
	{"slow numbers are compared", "regoeval/numbers.go", "return c.slow*c.values > maxSlowWork", "return c.slow*c.values > 1<<50", "./regoeval", "TestSlowNumbers"},
	// decorator: handlers.
	{"a refused call runs", "decorator/decorator.go", "if !decision.Effective {", "if !decision.Effective && false {", "./decorator", "TestWrapRunsTheHandlerOnlyForCallsThatAreLetThrough"},
	{"what is allowed counts, not what is effective", "decorator/decorator.go", "if !decision.Effective {", "if !decision.Allowed {", "./decorator", "TestWrapForwardsInShadowMode"},
	{"a schema that can't be used is wrapped", "decorator/decorator.go", "return tool, tool.SchemaErr()", "return tool, nil", "./decorator", "TestWrapRefusesWhatCanNeverWork"},
	{"typed handlers round floats", "decorator/decode.go", "\t\t\tjson.UnmarshalFromFunc(float64Exactly),\n", "", "./decorator", "TestTypedHandlersGetWhatWasDecided"},
	{"typed handlers round in an any", "decorator/decode.go", "\t\t\tjson.UnmarshalFromFunc(numberIntoAny),\n", "", "./decorator", "TestTypedHandlersGetWhatWasDecided"},
	{"what doesn't fit runs with a zero", "decorator/typed.go", "\t\tif err != nil {\n\t\t\tvar none Out\n", "\t\tif err != nil && false {\n\t\t\tvar none Out\n", "./decorator", "TestTypedHandlersGetWhatWasDecided"},
	{"HTTP: any media type", "decorator/http.go", "len(types) != 1 || !isJSON(types[0])", "len(types) > 9 && !isJSON(types[0])", "./decorator", "TestHTTPHandlersRunOnlyForCallsThatAreLetThrough"},
	{"HTTP: any content encoding", "decorator/http.go", "if len(r.Header.Values(\"Content-Encoding\")) > 0 {", "if false {", "./decorator", "TestHTTPHandlersRunOnlyForCallsThatAreLetThrough"},
	{"HTTP: a query is passed on", "decorator/http.go", "if !t.o.Query && (", "if t.o.Query && (", "./decorator", "TestHTTPHandlersRunOnlyForCallsThatAreLetThrough"},
	{"HTTP: a caller that isn't known is nobody", "decorator/http.go", "call.Unfaithful = err", "_ = err", "./decorator", "TestHTTPCallers"},
	{"HTTP: other codes are fine", "decorator/http.go", "\tdefault:\n\t\treturn http.StatusServiceUnavailable\n", "\tdefault:\n\t\treturn http.StatusOK\n", "./decorator", "TestHTTPStatusOfEachCode"},
	{"HTTP: a form parsed before stays", "decorator/http.go", "\tr.Form, r.PostForm, r.MultipartForm = nil, nil, nil\n", "", "./decorator", "TestHTTPBodyIsTheOnlyOne"},
	// decorator: adapters and the proxy.
	{"stdio: a refused call is sent on", "decorator/stdioproxy/decide.go", "\tif d.Effective {\n\t\tp.forward(line)\n", "\tif true {\n\t\tp.forward(line)\n", "./decorator/stdioproxy", "TestAllowedAndRefused"},
	{"stdio: a gate that panics has allowed it", "decorator/internal/adapter/decider.go", "debug.Stack()))\n", "debug.Stack()))\n\t\t\tdecision.Effective = true\n", "./decorator/stdioproxy", "TestAllowedAndRefused"},
	{"go-sdk server: a refused call runs", "decorator/gosdk/middleware.go", "call); !decision.Effective {", "call); !decision.Effective && false {", "./decorator/gosdk", "TestEveryCallIsDecidedBeforeTheHandlerRuns"},
	{"go-sdk server: rounding is let through", "decorator/gosdk/options.go", "\t\terr = inexact(call.Arguments)\n", "\t\t_ = inexact(call.Arguments)\n", "./decorator/gosdk", "TestANumberThatATypedToolWouldRoundIsRefused"},
	{"go-sdk client: a refused call is sent", "decorator/gosdk/client.go", "call, arguments); !d.Effective {", "call, arguments); !d.Effective && false {", "./decorator/gosdk", "TestAClientSendsOnlyWhatIsLetThrough"},
	{"mcp-go: a refused call runs", "decorator/mcpgo/middleware.go", "a.decide(ctx, &req); !d.Effective {", "a.decide(ctx, &req); !d.Effective && false {", "./decorator/mcpgo", "TestEveryCallIsDecidedBeforeTheHandlerRuns"},
	{"mcp-go: a refused task runs", "decorator/mcpgo/hooks.go", "a.decider, call); !d.Effective {", "a.decider, call); !d.Effective && false {", "./decorator/mcpgo", "TestTasksAreDecidedBeforeThereIsOne"},
	// The HTTP proxy, and what both proxies read.
	{"HTTP proxy: a refused call is sent on", "decorator/httpproxy/call.go", "\tif !d.Effective {\n\t\tp.logRefusal(\"refused", "\tif !d.Effective && false {\n\t\tp.logRefusal(\"refused", "./decorator/httpproxy", "TestRetriesAreDecidedAnew"},
	{"HTTP proxy: a call whose tool isn't known is sent on", "decorator/httpproxy/call.go", "\t\tcase err != nil:\n\t\t\tx.notReady(list, err)\n", "\t\tcase err != nil:\n\t\t\tx.forward()\n", "./decorator/httpproxy", "TestToolsThatCannotBeLearned"},
	{"HTTP proxy: nobody's answers are decided on", "decorator/httpproxy/call.go", "\t\tResponses: x.m.InputResponses(),\n", "", "./decorator/httpproxy", "TestRetriesAreDecidedAnew"},
	{"HTTP proxy: all share one list", "decorator/httpproxy/headers.go", "\tif passing[name] {", "\tif passing[name] || true {", "./decorator/httpproxy", "TestListsAreKeptApart"},
	{"HTTP proxy: who a proxy forwards for share one list", "decorator/httpproxy/headers.go", "\"X-Datadog-\"}", "\"X-Datadog-\", \"X-Forwarded-\"}", "./decorator/httpproxy", "TestListsAreKeptApart"},
	{"HTTP proxy: one private page doesn't matter", "decorator/internal/mcpwire/toolpages.go", "p.closed = p.closed || !page.public", "p.closed = p.closed && !page.public", "./decorator/httpproxy", "TestPublicLists"},
	{"HTTP proxy: list_changed is not heard", "decorator/httpproxy/forward.go", "if m.Method != mcpwire.ToolsListChanged {", "if m.Method != \"\" {", "./decorator/httpproxy", "TestListChanged"},
	{"HTTP proxy: lists don't expire", "decorator/internal/toolbox/box.go", "b.known == b.changes && (b.expires.IsZero() || time.Now().Before(b.expires))", "b.known == b.changes", "./decorator/httpproxy", "TestListsExpire"},
	{"HTTP proxy: a list outlives its session", "decorator/httpproxy/forward.go", "\t\tx.p.lists.drop(x.listKey())\n", "", "./decorator/httpproxy", "TestWithoutABody"},
	{"HTTP proxy: what waits has no bound", "decorator/httpproxy/call.go", "if len(t.held) >= most.Calls || ", "if len(t.held) >= 1<<30 || ", "./decorator/httpproxy", "TestManyWait"},
	{"HTTP proxy: Mcp-Method may lie", "decorator/httpproxy/mirror.go", "case len(methods) > 0 && methods[0] != m.Method:", "case len(methods) > 1<<30:", "./decorator/httpproxy", "TestRequestsThatAreRefused"},
	{"HTTP proxy: Mcp-Name may lie", "decorator/httpproxy/mirror.go", "if !ok || !has || name != said {", "if !ok || !has && name != said {", "./decorator/httpproxy", "TestRequestsThatAreRefused"},
	{"HTTP proxy: the version may lie", "decorator/httpproxy/mirror.go", "case body != header:", "case body == \"\" && body != header:", "./decorator/httpproxy", "TestRequestsThatAreRefused"},
	{"HTTP proxy: Mcp-Param- may lie", "decorator/httpproxy/params.go", "case !sameValue(header[0], value):", "case len(header) > 1 && !sameValue(header[0], value):", "./test/wire", "TestHTTPInFrontOfALenientServer"},
	{"HTTP proxy: any media type", "decorator/httpproxy/body.go", "len(types) != 1 || !isPlainJSON(types[0])", "len(types) != 1", "./decorator/httpproxy", "TestRequestsThatAreRefused"},
	{"HTTP proxy: any content encoding", "decorator/httpproxy/body.go", "if len(h.Values(\"Content-Encoding\")) > 0 {", "if len(h.Values(\"Content-Encoding\")) > 1 {", "./decorator/httpproxy", "TestRequestsThatAreRefused"},
	{"HTTP proxy: any Host", "decorator/httpproxy/guard.go", "if !p.hosts.allow(r.Host) {", "if p.hosts.any {", "./decorator/httpproxy", "TestRequestsThatAreRefused"},
	{"HTTP proxy: any Origin", "decorator/httpproxy/guard.go", "len(origins) > 1 || len(origins) == 1 && !p.origins.allow(origins[0])", "len(origins) > 1", "./decorator/httpproxy", "TestRequestsThatAreRefused"},
	{"HTTP proxy: Upgrade passes", "decorator/httpproxy/guard.go", "if len(r.Header.Values(\"Upgrade\")) > 0 {", "if len(r.Header.Values(\"Upgrade\")) > 1 {", "./decorator/httpproxy", "TestRequestsThatAreRefused"},
	{"HTTP proxy: Connection may name anything", "decorator/httpproxy/guard.go", "if token != \"close\" && ", "if token == \"\" && ", "./test/wire", "TestHTTPInFrontOfALenientServer"},
	{"HTTP proxy: the gate's own ids may be used", "decorator/httpproxy/post.go", "case x.p.ids.UsedBy(m):", "case false && x.p.ids.UsedBy(m):", "./test/wire", "TestHTTPInFrontOfALenientServer"},
	{"HTTP proxy: bodies have no bound", "decorator/httpproxy/body.go", "case len(body) > most:\n\t\t\treturn tooLarge()\n", "case len(body) > most:\n\t\t\tx.body = body\n\t\t\treturn nil\n", "./decorator/httpproxy", "TestBodiesAreBounded"},
	{"HTTP proxy: bodies together have no bound", "decorator/httpproxy/body.go", "if b.used.Add(int64(n)) > b.max {", "if b.used.Add(int64(n)) > 1<<60 {", "./decorator/httpproxy", "TestBodiesAreBounded"},
	{"HTTP proxy: what a body held is kept", "decorator/httpproxy/proxy.go", "x.p.pending.give(x.reserved) }", "_ = x.p }", "./decorator/httpproxy", "TestBodiesAreBounded"},
	{"HTTP proxy: tokens go on", "decorator/httpproxy/headers.go", "if !p.o.ForwardAuthorization {", "if !p.o.ForwardAuthorization && p.own == nil {", "./decorator/httpproxy", "TestWhatGoesOn"},
	{"HTTP proxy: method overrides go on", "decorator/httpproxy/headers.go", "\"X-Http-Method\": true, \"X-Http-Method-Override\": true, ", "", "./decorator/httpproxy", "TestWhatGoesOn"},
	{"HTTP proxy: an unknown caller is nobody", "decorator/httpproxy/post.go", "\tif err == nil {\n\t\tx.caller = &c", "\tif err == nil || c.Subject != \"\" {\n\t\tx.caller = &c", "./decorator/httpproxy", "TestCallersThatCannotBeTold"},
	{"HTTP proxy: redirects pass", "decorator/httpproxy/forward.go", "if res.StatusCode/100 == 3 && ", "if res.StatusCode/100 == 9 && ", "./decorator/httpproxy", "TestGarbage"},
	{"HTTP proxy: any JSON is an answer", "decorator/httpproxy/forward.go", "case !x.answeredBy(body, res.StatusCode/100 == 5):", "case false && !x.answeredBy(body, true):", "./decorator/httpproxy", "TestGarbage"},
	{"HTTP proxy: a stream may end without an answer", "decorator/httpproxy/stream.go", "if s.owes() && !s.answered && ", "if s.owes() && s.answered && ", "./decorator/httpproxy", "TestGarbage"},
	{"HTTP proxy: a client that hangs up is waited for", "decorator/httpproxy/proxy.go", "c, cancel := context.WithCancelCause(r.Context())", "c, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))", "./decorator/httpproxy", "TestHangingUpCancelsTheServer"},
	{"HTTP proxy: a call may be sent again", "decorator/httpproxy/forward.go", "\tr.TransferEncoding, r.Trailer = nil, nil\n", "\tr.TransferEncoding, r.Trailer = nil, nil\n\tr.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.body)), nil }\n", "./decorator/httpproxy", "TestCallsAreSentOnce"},
	{"bridge: answers of rounded ids are lost", "decorator/httpproxy/bridge/session.go", "return mcpwire.SameID(e.message.ID, m.ID) })", "return string(e.message.ID) == string(m.ID) })", "./decorator/httpproxy/bridge", "TestServersThatRoundIDs"},
	{"bridge: ids that round to one wait together", "decorator/httpproxy/bridge/session.go", "if mcpwire.SameID(other.message.ID, e.message.ID) {", "if string(other.message.ID) == string(e.message.ID) {", "./decorator/httpproxy/bridge", "TestServersThatRoundIDs"},
	{"envelope: a CR is like another blank", "decorator/internal/mcpwire/read.go", "case bytes.IndexByte(text, '\\r') >= 0:", "case bytes.IndexByte(text, '\\r') > 1<<30:", "./test/wire", "TestStdioInFrontOfALenientServer"},
	{"envelope: names may be folded", "decorator/internal/mcpwire/names.go", "exact, ok = knownNames[l][strictjson.FoldName(name)]", "exact, ok = knownNames[l][name]", "./test/wire", "TestStdioInFrontOfALenientServer"},
}
