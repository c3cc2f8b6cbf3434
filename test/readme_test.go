package test

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shown are the Examples that the README has an excerpt of, once it has any.
var shown = []string{
	"decorator.ExampleWrap", "decorator.ExampleWrapTyped", "decorator.ExampleWrapHTTP",
	"gosdk.ExampleGateServer", "gosdk.ExampleHandler", "gosdk.ExampleGateClient", "mcpgo.ExampleWithGate",
	"policy.ExampleValidatorFunc", "validatortest.ExampleOptions",
}

// mostLines is how long an excerpt may be: a README is for a first look.
const mostLines = 12

// A marked block is fenced Go of a document whose fence names an Example after the
// language, by its package: ```go gosdk.ExampleGateClient
type marked struct {
	line    int
	example string
	text    string
}

var fence = regexp.MustCompile("^```go ([A-Za-z0-9_.]+)$")

func markedBlocks(document []byte) (blocks []marked) {
	var in *marked
	lines := bufio.NewScanner(bytes.NewReader(document))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch m := fence.FindStringSubmatch(line); {
		case in != nil && line == "```":
			blocks = append(blocks, *in)
			in = nil
		case in != nil:
			in.text += line + "\n"
		case m != nil:
			in = &marked{line: n, example: m[1]}
		}
	}
	if in != nil {
		blocks = append(blocks, marked{in.line, in.example, "the fence is never closed"})
	}
	return blocks
}

// wrongBlocks says which marked blocks are not whole lines of their Example's body, one
// after the other, without the body's indentation.
func wrongBlocks(document []byte, bodies map[string]string) (wrong []string) {
	for _, b := range markedBlocks(document) {
		body, ok := bodies[b.example]
		switch {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("line %d: there is no %s", b.line, b.example))
		case strings.TrimSpace(b.text) == "":
			wrong = append(wrong, fmt.Sprintf("line %d: nothing of %s is shown", b.line, b.example))
		case strings.Count(b.text, "\n") > mostLines:
			wrong = append(wrong, fmt.Sprintf("line %d: more than %d lines of %s", b.line, mostLines, b.example))
		case !strings.Contains("\n"+body, "\n"+b.text):
			wrong = append(wrong, fmt.Sprintf("line %d: that is not what %s does:\n%s", b.line, b.example, body))
		}
	}
	return wrong
}

// exampleBodies returns the bodies of all Examples below root, without their outermost
// indentation, by package and name.
func exampleBodies(t *testing.T, root string) map[string]string {
	t.Helper()
	bodies := map[string]string{}
	for _, folder := range []string{"policy", "regoeval", "bundles", "decorator"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			return readExamples(path, bodies)
		})
		require.NoError(t, err)
	}
	return bodies
}

func readExamples(path string, bodies map[string]string) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, source, 0)
	if err != nil {
		return err
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Example") {
			continue
		}
		body := string(source[fset.Position(fn.Body.Lbrace).Offset+1 : fset.Position(fn.Body.Rbrace).Offset])
		body = strings.ReplaceAll(strings.TrimPrefix(body, "\n"), "\n\t", "\n")
		bodies[strings.TrimSuffix(f.Name.Name, "_test")+"."+fn.Name.Name] = strings.TrimPrefix(body, "\t")
	}
	return nil
}

// What the README shows of Go is what Examples do, which go test runs.
func TestReadmeShowsWhatExamplesDo(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	bodies := exampleBodies(t, "..")
	require.Empty(t, wrongBlocks(readme, bodies))
	for _, name := range shown {
		require.Contains(t, bodies, name)
	}
	blocks := markedBlocks(readme)
	if len(blocks) == 0 {
		t.Skip("the README has no block that is marked with an Example yet")
	}
	for _, name := range shown {
		require.True(t, slices.ContainsFunc(blocks, func(b marked) bool { return b.example == name }), "the README shows nothing of %s", name)
	}
}

func TestBlocksThatNoExampleHasAreFound(t *testing.T) {
	bodies := map[string]string{"p.ExampleX": "a()\nif b {\n\tc()\n}\n// Output:\n"}
	block := func(name, text string) []byte {
		return []byte("Text.\n\n```go " + name + "\n" + text + "```\n\n```go\nfree()\n```\n")
	}
	for _, good := range []string{"a()\n", "a()\nif b {\n\tc()\n}\n", "\tc()\n"} {
		require.Empty(t, wrongBlocks(block("p.ExampleX", good), bodies), good)
	}
	for text, want := range map[string]string{
		"b()\n": "not what", "a()\n\tc()\n": "not what", "c()\n": "not what", "f b {\n": "not what", "": "nothing",
		strings.Repeat("a()\n", 13): "more than 12",
	} {
		wrong := wrongBlocks(block("p.ExampleX", text), bodies)
		require.Len(t, wrong, 1, text)
		require.Contains(t, wrong[0], want)
		require.Contains(t, wrong[0], "line 3")
	}
	require.Contains(t, wrongBlocks(block("p.ExampleY", "a()\n"), bodies)[0], "there is no p.ExampleY")
	require.NotEmpty(t, wrongBlocks([]byte("```go p.ExampleX\na()\n"), bodies), "a fence that is never closed")
}
