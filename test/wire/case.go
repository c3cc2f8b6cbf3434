package wire

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	_ "embed" // the cases
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

//go:embed cases.jsonl
var caseLines []byte

// A Case is one trick. Texts have places in double braces that are filled in for what it
// is played on, see [Names].
type Case struct {
	Name string `json:"name"`
	// Body is the message, and Encoding what is done to it before it is sent.
	Body     string `json:"body"`
	Encoding string `json:"encoding"`
	// Era is "session" or "stateless" where the trick makes no sense in the other one,
	// and Version another protocol version than that of the era.
	Era     Era    `json:"era"`
	Version string `json:"version"`
	// HTTPOnly and StdioOnly say why the trick can't be played on the other one. Mirrored
	// says that it is about a schema with x-mcp-header.
	HTTPOnly  string `json:"http_only"`
	StdioOnly string `json:"stdio_only"`
	Mirrored  bool   `json:"mirrored"`
	Large     bool   `json:"large"`
	// Pseudo are pseudo-headers that take the place of the usual ones: of HTTP/2 alone.
	Pseudo [][2]string `json:"pseudo"`
	// Lines is what is answered on standard streams where that is not Code: "none", "any"
	// number of refusals, or another code.
	Lines string `json:"lines"`

	// Line is the request line, Framing how the body is sent, Headers what is sent beside
	// or in place of the usual (null: not at all), Trailers what follows the body.
	Line     string              `json:"line"`
	Framing  string              `json:"framing"`
	Headers  map[string][]string `json:"headers"`
	Trailers map[string][]string `json:"trailers"`
	// MethodHeader and NameHeader are Mcp-Method and Mcp-Name where they are not those of
	// a call of the allowed tool; "" leaves them out. Param says whether Mcp-Param-Path is
	// sent.
	MethodHeader *string `json:"method_header"`
	NameHeader   *string `json:"name_header"`
	Param        *bool   `json:"param"`

	// Hides says that some reader finds the hidden call in it.
	Hides bool `json:"hides"`
	// Runs says that it is a call that is allowed, and runs. Otherwise it is refused: with
	// the HTTP status Status, a number or the word for one that depends on the era, and with
	// Code, a JSON-RPC error or the code of a refused call. Answer is "any" where HTTP
	// itself answers, and "none" for what has no answer.
	Runs   bool   `json:"runs"`
	Status any    `json:"status"`
	Code   any    `json:"code"`
	Answer string `json:"answer"`
}

// Cases returns all tricks.
func Cases() ([]Case, error) {
	var cases []Case
	dec := json.NewDecoder(bytes.NewReader(caseLines))
	dec.DisallowUnknownFields()
	for {
		var c Case
		err := dec.Decode(&c)
		if err == io.EOF {
			return cases, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cases.jsonl, case %d: %w", len(cases)+1, err)
		}
		cases = append(cases, c)
	}
}

// An Era is one of the two of the protocol.
type Era string

// The eras.
const (
	Sessions  Era = "session"
	Stateless Era = "stateless"
)

// Version is the protocol version that stands for the era.
func (e Era) Version() string {
	if e == Stateless {
		return "2026-07-28"
	}
	return "2025-11-25"
}

// Meta is what a request of the era has in params, after something else.
func (e Era) Meta() string {
	if e == Stateless {
		return `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"wire","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	}
	return ""
}

// Names are the tools of the server that is played on: one that the gate's policy lets
// run, and one that it doesn't. Argument is an argument of the allowed tool, a string, of
// which the policy refuses the value "/secret".
type Names struct {
	Safe, SafeArguments     string
	Secret, SecretArguments string
	Argument                string
}

// DefaultNames are those of the servers of this package.
func DefaultNames() Names {
	return Names{Safe: "safe", SafeArguments: `{"path":"/ok"}`, Secret: "secret", SecretArguments: `{"path":"/x"}`, Argument: "path"}
}

// A filler fills in what is in double braces.
type filler struct {
	names  Names
	era    Era
	gateID string
	path   string
}

// filled is the body of a case. It skips the test where the body needs an id of the
// gate's own and nobody knows one.
func (c Case) filled(t *testing.T, f *filler, gateID func() string) []byte {
	t.Helper()
	if strings.Contains(c.Body, "{{gate_id") {
		if f.gateID = gateID(); f.gateID == "" {
			t.Skip("the gate's own ids are not known here")
		}
	}
	body, err := encoded(c.Encoding, f.fill(c.Body))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

var repeated = regexp.MustCompile(`\{\{(pad|open|close|byte):([0-9a-f]+)\}\}`)

func (f filler) fill(text string) string {
	n := f.names
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	text = strings.NewReplacer(
		"{{safe}}", n.Safe, "{{safe_args}}", n.SafeArguments, "{{safe64}}", b64(n.Safe), "{{safe_percent}}", percent(n.Safe),
		"{{safe64x}}", base64.RawStdEncoding.EncodeToString([]byte(n.Safe)),
		"{{secret}}", n.Secret, "{{secret_args}}", n.SecretArguments, "{{SECRET}}", strings.ToUpper(n.Secret),
		"{{secret64}}", b64(n.Secret), "{{secret_nul64}}", b64(n.Secret+"\x00"), "{{secret_blank64}}", b64(n.Secret+" "), "{{secret_percent}}", percent(n.Secret),
		"{{arg}}", n.Argument, "{{ARG}}", strings.ToUpper(n.Argument),
		"{{meta}}", f.era.Meta(), "{{gate_id}}", f.gateID, "{{gate_id_rest}}", strings.TrimPrefix(f.gateID, "r"),
		"{{path}}", f.path, "{{PATH}}", strings.ToUpper(strings.TrimPrefix(f.path, "/")), "{{blank}}", "",
	).Replace(text)
	return repeated.ReplaceAllStringFunc(text, func(place string) string {
		m := repeated.FindStringSubmatch(place)
		if m[1] == "byte" {
			raw, _ := hex.DecodeString(m[2]) // the cases are data of this package
			return string(raw)
		}
		count, _ := strconv.Atoi(m[2])
		return strings.Repeat(map[string]string{"pad": "x", "open": "[", "close": "]"}[m[1]], count)
	})
}

// percent writes the first letter as its code.
func base64Of(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func percent(s string) string { return "%" + hex.EncodeToString([]byte(s[:1])) + url.PathEscape(s[1:]) }

// encoded does to a message what the case says.
func encoded(how, text string) ([]byte, error) {
	var b bytes.Buffer
	pack := func(w io.WriteCloser) ([]byte, error) {
		if _, err := io.WriteString(w, text); err != nil {
			return nil, err
		}
		err := w.Close()
		return b.Bytes(), err
	}
	switch how {
	case "":
		return []byte(text), nil
	case "gzip", "x-gzip":
		return pack(gzip.NewWriter(&b))
	case "zlib":
		return pack(zlib.NewWriter(&b))
	case "deflate":
		w, err := flate.NewWriter(&b, flate.DefaultCompression)
		if err != nil {
			return nil, err
		}
		return pack(w)
	case "utf-16", "utf-16-le", "utf-16-be":
		var order binary.AppendByteOrder = binary.LittleEndian
		if how == "utf-16-be" {
			order = binary.BigEndian
		}
		return utf16Bytes(order, how == "utf-16", text), nil
	case "utf-32":
		var out []byte
		for _, r := range text {
			out = binary.LittleEndian.AppendUint32(out, uint32(r))
		}
		return out, nil
	case "utf-7":
		return []byte("+" + base64.RawStdEncoding.EncodeToString(utf16Bytes(binary.BigEndian, false, text)) + "-"), nil
	case "overlong":
		return []byte(strings.ReplaceAll(text, "e", "\xc1\xa5")), nil
	default:
		return nil, fmt.Errorf("unknown encoding %q", how)
	}
}

func utf16Bytes(order binary.AppendByteOrder, mark bool, text string) []byte {
	var out []byte
	if mark {
		out = order.AppendUint16(out, 0xfeff)
	}
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return out
}

// Sent returns the headers that are special to a case, and its body, as they are sent.
func (c Case) Sent(names Names, e Era) (headers map[string][]string, body []byte, err error) {
	f := filler{names, e, "regogate-x", "/mcp"}
	headers = map[string][]string{}
	for name, values := range c.Headers {
		for _, v := range values {
			headers[name] = append(headers[name], f.fill(v))
		}
	}
	body, err = encoded(c.Encoding, f.fill(c.Body))
	return headers, body, err
}
