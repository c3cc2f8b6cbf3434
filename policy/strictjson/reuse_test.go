package strictjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy/strictjson"
)

// A parser is used again. Whatever one input was, refused ones and deep ones included,
// the next is read as by a new one, and what was read before doesn't change.
func TestParsersForgetTheirInput(t *testing.T) {
	inputs := []string{
		`{"planted":1e301,"a":[1,"planted\n",{"b":null}]}`, `[[[[[[["planted"`, `{"a":1,"A":2}`, `{"a":"\ud800"}`, `[1e400]`, "nul", `"` + strings.Repeat("x", 100_000) + `"`,
		strings.Repeat("[", 65), manyNames(20, "k%d", "K19"), manyNames(20, "planted%d", "x"), `{}`, `[]`, `"é\t"`, smallCall, string(rows(70_000)),
	}
	fresh := make([]string, len(inputs))
	for i, in := range inputs {
		fresh[i] = outcomeOf(in)
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 400 {
				at := (i*(worker+3) + worker) % len(inputs)
				if got := outcomeOf(inputs[at]); got != fresh[at] {
					t.Errorf("input %d: %.300s, not %.300s", at, got, fresh[at])
					return
				}
			}
		})
	}
	kept, err := strictjson.Parse([]byte(inputs[0]), strictjson.Limits{})
	require.NoError(t, err)
	wg.Wait()
	text, err := json.Marshal(kept)
	require.NoError(t, err)
	require.JSONEq(t, inputs[0], string(text))
}

func outcomeOf(input string) string {
	data := []byte(input)
	v, traits, err := strictjson.Read(data, strictjson.Limits{})
	clear(data) // what was read is no part of it
	text, _ := json.Marshal(v)
	return fmt.Sprint(string(text), traits, err)
}

func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("under the race detector pools drop what they are given")
	}
	data := []byte(smallCall)
	allocs := testing.AllocsPerRun(200, func() {
		if _, err := strictjson.ParseObject(data, strictjson.Limits{}); err != nil {
			t.Fatal(err)
		}
	})
	require.LessOrEqual(t, allocs, 32.0, "one for the text, one for each container and its contents, one for each value that isn't empty")
}
