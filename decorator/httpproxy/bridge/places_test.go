package bridge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

func TestPlaces(t *testing.T) {
	for text, want := range map[string]map[string]string{
		`{"jsonrpc":"2.0","id": 7 ,"method":"m","params":{"_meta":{"progressToken":"a"},"id":8}}`: {atID: "7", atMetaToken: `"a"`},
		`{"\u0069d":1,"params":{"progressToken":2,"requestId":3,"x":{"requestId":4}}}`:            {atID: "1", atToken: "2", atRequest: "3"},
		`{"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}},"id":null}`:           {atID: "null", atResultSubscription: `"s"`},
		`{"params":[1],"result":7}`: {},
	} {
		places, err := find([]byte(text))
		require.NoError(t, err, text)
		got := map[string]string{}
		for at, place := range places {
			got[at] = string(place.of([]byte(text)))
		}
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{`{"id":1,"id":2}`, `{"id":1,"\u0069d":2}`, `{"params":{},"params":{}}`,
		`{"params":{"_meta":{},"_meta":{"progressToken":1}}}`, `[]`, ``, `{"id":`, `7`} {
		_, err := find([]byte(text))
		require.Error(t, err, text)
	}
}

// Only the places that are named change, whatever the message is.
func FuzzPlaces(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":"a"}}}`)
	f.Add(`{"id":"x","result":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}`)
	f.Add(`{"i\u0064":1e5,"params":{"requestId":-0}}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, fault := mcpwire.Read([]byte(text), mcpwire.Limits{Multiline: true})
		if fault != nil || m.Kind != mcpwire.Request {
			return
		}
		places, err := find([]byte(text))
		if err != nil {
			t.Fatalf("a message that may go on can't be rewritten: %v", err)
		}
		if id := places[atID].of([]byte(text)); mcpwire.IDKey(id) != mcpwire.IDKey(m.ID) {
			t.Fatalf("the id is %s and not %s", m.ID, id)
		}
		own := json.RawMessage("987654321")
		there := apply([]byte(text), edit{places[atID], own}, edit{places[atMetaToken], own})
		if _, fault := mcpwire.Read(there, mcpwire.Limits{Multiline: true}); fault != nil {
			t.Fatalf("%q is no message any more", there)
		}
		back, err := find(there)
		if err != nil {
			t.Fatal(err)
		}
		again := apply(there, edit{back[atID], m.ID}, edit{back[atMetaToken], m.Meta("progressToken")})
		if string(again) != text {
			t.Fatalf("%q became %q", text, again)
		}
		if strings.Count(string(there), "987654321") == 0 {
			t.Fatal("the id was left")
		}
	})
}
