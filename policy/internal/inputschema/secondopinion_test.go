package inputschema

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy/strictjson"
)

var qriOptions = Options{SecondOpinion: SecondOpinionQri}

// awaitQri waits until a run that was given up has ended.
func awaitQri(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		select {
		case qriTurn <- struct{}{}:
			<-qriTurn
			return true
		default:
			return false
		}
	}, 3*time.Minute, 10*time.Millisecond)
}

func TestSecondOpinionOnlyAddsRefusals(t *testing.T) {
	awaitQri(t)
	for _, test := range []struct {
		schema, args  string
		first, second bool // accepts
	}{
		{`{"properties":{"a":{"type":"string"}}}`, `{"a":"x"}`, true, true},
		{`{"properties":{"a":{"type":"string"}}}`, `{"a":1}`, false, false},
		{`{"properties":{"a":{"type":"boolean"}}}`, `{"a":"true"}`, false, false}, // qri accepts
		{`{"properties":{"a":{"multipleOf":0.01}}}`, `{"a":19.99}`, true, false},  // qri calculates in binary
		{`{"properties":{"a":{"prefixItems":[{},{}],"items":false}}}`, `{"a":[1,2]}`, true, false},
		{`{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"multipleOf":0.01}}}`, `{"a":19.99}`, true, true}, // not asked
	} {
		require.Equal(t, test.first, must(t, test.schema, Options{}).Check(object(t, test.args)).OK, test.schema)
		out := must(t, test.schema, qriOptions).Check(object(t, test.args))
		require.NoError(t, out.Err)
		require.Equal(t, test.second, out.OK, test.schema)
		if test.first && !test.second {
			require.Equal(t, textSecondOpinion, out.Violations[0].Message)
			require.Equal(t, "/a", strings.TrimSuffix(out.Violations[0].Pointer, "/0"))
		}
	}
}

func TestSecondOpinionIsNotAskedAboutWhatIsNotForIt(t *testing.T) {
	awaitQri(t)
	for _, schema := range []string{
		`{"properties":{"a":{"$ref":"#"},"m":{"multipleOf":0.01}}}`, `{"$id":"http://victim.test/tool","properties":{"m":{"multipleOf":0.01}}}`, `{"$id":"x","properties":{"m":{"multipleOf":0.01}}}`,
		`{"$anchor":"x","properties":{"m":{"multipleOf":0.01}}}`, `{"$dynamicAnchor":"x","properties":{"m":{"multipleOf":0.01}}}`,
		`{"properties":{"m":{"multipleOf":0.01}},"$defs":{"x":{"$ID":"http://victim.test/tool"}}}`, `{"properties":{"m":{"multipleOf":0.01}},"x":{"$ref":"#"}}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"m":{"multipleOf":0.01}}}`,
	} {
		s := must(t, schema, qriOptions)
		require.Nil(t, s.second, schema)
		require.True(t, s.Check(object(t, `{"m":19.99}`)).OK, schema)
	}
	s := must(t, `{"properties":{"m":{"multipleOf":0.01}}}`, Options{SecondOpinion: SecondOpinionQri, SecondOpinionBytes: 100})
	require.False(t, s.Check(object(t, `{"m":19.99}`)).OK)
	require.True(t, s.Check(object(t, `{"m":19.99,"x":"`+strings.Repeat("x", 100)+`"}`)).OK)
	require.True(t, s.Check(object(t, `{"m":19.99,"x":"`+strings.Repeat(`\u0001`, 30)+`"}`)).OK)
	require.True(t, s.Check(object(t, `{"m":19.99,"x":[`+repeat(60, ",", "1")+`]}`)).OK)
}

func TestSecondOpinionFollowsFormats(t *testing.T) {
	awaitQri(t)
	schema := `{"properties":{"a":{"format":"email"},"format":{"const":"email"}},"enum":[{"a":"x"},{"a":"x","format":"email"}]}`
	for args, ok := range map[string]bool{`{"a":"x"}`: true, `{"a":"x","format":"email"}`: true, `{"a":"x","format":"x"}`: false} {
		out := must(t, schema, Options{SecondOpinion: SecondOpinionQri, Formats: Annotate}).Check(object(t, args))
		require.NoError(t, out.Err)
		require.Equal(t, ok, out.OK, args)
	}
}

func TestSecondOpinionThatTakesTooLong(t *testing.T) {
	awaitQri(t)
	slowItems := 7_000
	if raceEnabled {
		slowItems = 3_000
	}
	slow := must(t, `{"properties":{"a":{"uniqueItems":true}}}`, qriOptions)
	other := must(t, `{"properties":{"a":{"type":"string"}}}`, qriOptions)
	args := object(t, `{"a":[`+repeat(slowItems, ",", "@")+`]}`) // qri compares each with each
	out := slow.Check(args)
	require.False(t, out.OK)
	require.ErrorIs(t, out.Err, errQriSlow)
	out = other.Check(object(t, `{"a":"x"}`))
	require.False(t, out.OK)
	require.ErrorIs(t, out.Err, errQriBusy)
	require.True(t, must(t, `{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`, qriOptions).Check(object(t, `{"a":"x"}`)).OK, "not asked, so not busy")
	awaitQri(t)
	require.True(t, other.Check(object(t, `{"a":"x"}`)).OK)
}

func TestSecondOpinionThatPanics(t *testing.T) {
	awaitQri(t)
	_, err := inTurn(callPatience, nil)
	require.ErrorContains(t, err, "panic in the second schema engine")
	awaitQri(t)
}

// TestSecondOpinionIsNotAskedAboutHostileSchemas runs what crashes qri, makes it fetch
// or poisons it.
func TestSecondOpinionIsNotAskedAboutHostileSchemas(t *testing.T) {
	awaitQri(t)
	values := []string{`{}`, `{"a":1,"b":[1,[2]],"c":{"d":null}}`, `{"cmd":"rm -rf /"}`}
	for _, schema := range []string{
		`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `{"not":{"$ref":"#"}}`, `{"anyOf":[{"$ref":"#"},{"type":"object"}]}`, `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`,
		`{"$recursiveRef":"#"}`, `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"c":{"$recursiveRef":"#"}}}`, `{"$id":"#foo"}`, `{"$id":"#"}`,
		`{"$ref":"http://127.0.0.1:1/x"}`, `{"$ref":"file:///etc/passwd"}`, `{"$id":"http://127.0.0.1:1/","$ref":"x"}`, `{"not":{"$ref":"http://127.0.0.1:1/x"}}`,
		`{"$id":"https://victim.test/tool","$defs":{"safe":{}}}`, `{"enum":[]}`, `{"type":[]}`, `{"allOf":[null]}`, `{"items":[null]}`, `{"allOf":[]}`, `{"properties":{"a":null}}`,
		`{"const":null}`, `{"enum":[null]}`, `{"if":true,"then":false}`, `{"contains":{},"minContains":0}`, `{"dependencies":{"a":["b"]}}`, `{"definitions":{"a":{"enum":[]}}}`, `{"$defs":{"a":{"enum":[]}}}`,
		`{"patternProperties":{"":{}}}`, `{"propertyNames":false}`, `{"unevaluatedItems":false,"unevaluatedProperties":false}`, `{"$vocabulary":{}}`, `{"extra":{"$id":"x"}}`, `{"$comment":"x","default":{},"examples":[1]}`,
		doubling(20, "allOf", `{}`), nested(31, `{"allOf":[`, `{}`, `]}`), nested(31, `{"not":`, `{}`, `}`), nested(60, `{"items":`, `{}`, `}`),
	} {
		s, err := Compile([]byte(schema), qriOptions)
		if err != nil {
			continue
		}
		for _, v := range values {
			var wait sync.WaitGroup
			for range 4 {
				wait.Add(1)
				go func() {
					defer wait.Done()
					out := s.Check(object(t, v))
					requireBounded(t, out, s.options)
				}()
			}
			wait.Wait()
		}
	}
	awaitQri(t)
}

// TestSecondOpinionOnToolArguments counts what qri makes of arguments that the first
// engine accepts.
func TestSecondOpinionOnToolArguments(t *testing.T) {
	root := filepath.Join(shared(t, "the second opinion on the tool argument suite"), "suites", "tool-arguments")
	awaitQri(t)
	for _, o := range []Options{{SecondOpinion: SecondOpinionQri, Formats: Annotate}, {SecondOpinion: SecondOpinionQri}} {
		calls, accepted, skipped, refused, undecided := 0, 0, 0, 0, 0
		var alone, both time.Duration
		for _, part := range []struct {
			folder string
			draft  *jsonschema.Draft
		}{{"draft7", jsonschema.Draft7}, {"draft2020-12", jsonschema.Draft2020}} {
			for _, g := range readGroups(t, filepath.Join(root, part.folder)) {
				first, err := compile(g.Schema, Options{Formats: o.Formats}, environment{dialect: part.draft})
				require.NoError(t, err)
				second, err := compile(g.Schema, o, environment{dialect: part.draft})
				require.NoError(t, err)
				for i, test := range g.Tests {
					if raceEnabled && i%20 > 0 {
						continue
					}
					args, err := strictjson.ParseObject(test.Data, strictjson.Limits{})
					if err != nil {
						continue
					}
					calls++
					start := time.Now()
					ok := first.Check(args).OK
					alone += time.Since(start)
					start = time.Now()
					out := second.Check(args)
					both += time.Since(start)
					require.False(t, out.OK && !ok, "the second opinion accepted what the first engine refused")
					switch {
					case !ok:
						continue
					case second.second == nil:
						skipped++
					case out.Err != nil:
						undecided++
					case !out.OK:
						refused++
						if refused <= 5 {
							t.Logf("%s %s/%s: %s %s", g.file, g.Description, test.Description, test.Data, texts(out.Violations))
						}
					}
					accepted++
				}
			}
		}
		t.Logf("formats %d: of %d calls %d are accepted by the first engine; of these qri is not asked about %d, refuses %d, has no opinion about %d; %v per call without, %v with",
			o.Formats, calls, accepted, skipped, refused, undecided, alone/time.Duration(calls), both/time.Duration(calls))
		require.Less(t, undecided, calls/100, "a busy machine may have some")
	}
}
