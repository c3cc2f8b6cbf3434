package regoeval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
)

// A NamedBundle is a bundle as OPA's reader returned it, and how to call it in reports.
type NamedBundle struct {
	Name   string
	Bundle bundle.Bundle
}

// A Source is what one revision is made of.
type Source struct {
	Bundles []NamedBundle
	// Settings is laid over data.settings: objects are merged, everything else replaced.
	Settings map[string]any
	// SettingsDigest identifies Settings; it becomes part of the revision.
	SettingsDigest string
	// Common and Map come from the configuration and add to what the manifests say.
	Common []string
	Map    []Mapping
}

// gathered is a Source brought together: one set of modules, one data document.
type gathered struct {
	revision  string
	revisions map[string]string // of each bundle, by its name
	modules   map[string]*ast.Module
	data      map[string]any
	metadata  metadata
	// named says which manifest names a package; the configuration is in none.
	named map[string]*ast.Location
	// builtinsAt is the manifest that asks for built-ins, toolsDataAt the bundle that
	// supplies data below tools, and bundleAt the bundle when there is but one.
	builtinsAt, toolsDataAt, bundleAt *ast.Location
}

// gather merges the bundles of s. Test packages are left out: what only opa test
// runs has no part in a decision.
func gather(s Source, fs *findings) gathered {
	g := gathered{modules: map[string]*ast.Module{}, data: map[string]any{}, named: map[string]*ast.Location{}, revisions: map[string]string{}}
	var revisions []string
	for i, b := range s.Bundles {
		manifest := b.Name + "/.manifest"
		loc := &ast.Location{File: manifest, Row: 1, Col: 1}
		checkManifest(fs, manifest, b.Bundle.Manifest)
		if len(b.Bundle.WasmModules) > 0 || len(b.Bundle.PlanModules) > 0 {
			fs.add(idWasm, loc, "build the bundle from Rego sources, without -t wasm or -t plan", "compiled modules are not accepted")
		}
		md, err := readMetadata(b.Bundle.Manifest)
		if err != nil {
			fs.add(idManifest, loc, "see docs/guides/bundles.md for what metadata.regogate may hold", "%s", err)
		}
		g.addMetadata(md, loc)
		if md.SettingsCheck != "" {
			g.metadata.SettingsChecks = append(g.metadata.SettingsChecks, settingsCheck{md.SettingsCheck, loc, settingsOfOthers(s.Bundles, i)})
		}
		g.bundleAt = &ast.Location{File: b.Name}
		if _, ok := b.Bundle.Data["tools"]; ok {
			g.toolsDataAt = g.bundleAt
		}
		g.revisions[b.Name] = revisionOf(b.Bundle)
		revisions = append(revisions, g.revisions[b.Name])
		for _, other := range s.Bundles[:i] {
			checkDisjoint(fs, other, b)
		}
		g.addModules(b, fs)
		if err := mergeData(g.data, b.Bundle.Data, "data"); err != nil {
			fs.add(idRoots, loc, "give each bundle its own roots", "%s", err)
		}
	}
	if len(s.Bundles) > 1 {
		g.bundleAt = nil
	}
	if s.Settings != nil {
		overlaySettings(g.data, s.Settings, fs)
	}
	g.revision = strings.Join(revisions, "+")
	if s.SettingsDigest != "" {
		g.revision += "+settings." + s.SettingsDigest
	}
	return g
}

// addMetadata adds what one manifest says, and remembers that it was that one.
func (g *gathered) addMetadata(md metadata, loc *ast.Location) {
	g.metadata.Common = append(g.metadata.Common, md.Common...)
	g.metadata.Map = append(g.metadata.Map, md.Map...)
	g.metadata.Builtins = append(g.metadata.Builtins, md.Builtins...)
	for _, c := range md.Common {
		g.named[c.Package] = loc
	}
	for _, m := range md.Map {
		g.named[m.Package] = loc
	}
	if len(md.Builtins) > 0 {
		g.builtinsAt = loc
	}
}

// revisionOf is the manifest's revision, or a digest of the content when there is none.
func revisionOf(b bundle.Bundle) string {
	if b.Manifest.Revision != "" {
		return b.Manifest.Revision
	}
	modules := slices.Clone(b.Modules)
	slices.SortFunc(modules, func(a, b bundle.ModuleFile) int { return strings.Compare(a.URL, b.URL) })
	h := sha256.New()
	for _, m := range modules {
		fmt.Fprintf(h, "%d %s\n%d\n%s\n", len(m.URL), m.URL, len(m.Raw), m.Raw)
	}
	data, err := json.Marshal(b.Data)
	if err != nil {
		data = fmt.Appendf(nil, "%v", b.Data)
	}
	h.Write(data)
	return "sha256." + hex.EncodeToString(h.Sum(nil))[:16]
}

func (g *gathered) addModules(b NamedBundle, fs *findings) {
	for _, m := range b.Bundle.Modules {
		if m.Parsed == nil || isTestPackage(m.Parsed.Package.Path) {
			continue
		}
		if m.Parsed.RegoVersionSpan().Min() == ast.RegoV0 {
			fs.add(idRegoVersion, m.Parsed.Package.Location, "rewrite the file for Rego v1 (opa fmt --rego-v1)", "the file is Rego v0")
		}
		name := m.Path
		if _, taken := g.modules[name]; taken {
			name = b.Name + "/" + m.Path
		}
		g.modules[name] = m.Parsed
	}
}

func isTestPackage(path ast.Ref) bool {
	return len(path) > 1 && path[1].Equal(ast.StringTerm("tests"))
}

func isTestPath(root string) bool { return root == "tests" || strings.HasPrefix(root, "tests/") }

// checkDisjoint refuses two bundles that claim one part of data. A bundle without
// roots claims what it contains.
func checkDisjoint(fs *findings, a, b NamedBundle) {
	loc := &ast.Location{File: b.Name + "/.manifest", Row: 1, Col: 1}
	fix := "give each bundle its own roots in .manifest"
	for _, ra := range claims(a.Bundle) {
		for _, rb := range claims(b.Bundle) {
			if bundle.RootPathsOverlap(ra, rb) {
				fs.add(idRoots, loc, fix, "bundles %s and %s both claim %q", a.Name, b.Name, longer(ra, rb))
			}
		}
	}
}

func longer(a, b string) string {
	if len(a) > len(b) {
		return a
	}
	return b
}

// claims lists the parts of data that a bundle owns, as slash-separated paths. What it
// owns of settings is each setting that it has: the starter bundle's and the author's
// own are meant to lie side by side.
func claims(b bundle.Bundle) []string {
	const shared = "settings"
	set := map[string]bool{}
	if r := b.Manifest.Roots; r != nil && !slices.Contains(*r, "") {
		for _, root := range *r {
			set[root] = root != shared && !isTestPath(root) // tests are left out of decisions
		}
		if mine, ok := b.Data[shared].(map[string]any); ok && slices.Contains(*r, shared) {
			for k := range mine {
				set[shared+"/"+k] = true
			}
		}
		maps.DeleteFunc(set, func(_ string, owned bool) bool { return !owned })
		return slices.Sorted(maps.Keys(set))
	}
	for _, m := range b.Modules {
		if m.Parsed != nil && !isTestPackage(m.Parsed.Package.Path) {
			set[refPath(m.Parsed.Package.Path)] = true
		}
	}
	leaves(set, "", b.Data)
	return slices.Sorted(maps.Keys(set))
}

// leaves adds the paths of the data document, two levels deep: settings/x may
// belong to one bundle and settings/y to another.
func leaves(set map[string]bool, prefix string, data map[string]any) {
	for k, v := range data {
		path := prefix + k
		if m, ok := v.(map[string]any); ok && prefix == "" && len(m) > 0 {
			leaves(set, path+"/", m)
			continue
		}
		set[path] = true
	}
}

func refPath(ref ast.Ref) string {
	parts := make([]string, 0, len(ref))
	for _, t := range ref[1:] {
		if s, ok := t.Value.(ast.String); ok {
			parts = append(parts, string(s))
		}
	}
	return strings.Join(parts, "/")
}

// mergeData adds src to dst. Two bundles may share an object, not a value.
func mergeData(dst, src map[string]any, path string) error {
	for k, v := range src {
		old, taken := dst[k]
		if !taken {
			dst[k] = copyTree(v)
			continue
		}
		a, ok1 := old.(map[string]any)
		b, ok2 := v.(map[string]any)
		if !ok1 || !ok2 {
			return fmt.Errorf("two bundles supply %s.%s", path, k)
		}
		if err := mergeData(a, b, path+"."+k); err != nil {
			return err
		}
	}
	return nil
}

func overlaySettings(data, settings map[string]any, fs *findings) {
	base, ok := data["settings"].(map[string]any)
	if !ok {
		if data["settings"] != nil {
			fs.add(idSettings, nil, "make data.settings an object", "data.settings is not an object, so settings can't be laid over it")
			return
		}
		base = map[string]any{}
	}
	data["settings"] = overlay(base, settings)
}

// overlay returns base with over laid on it; neither is changed.
func overlay(base, over map[string]any) map[string]any {
	out := maps.Clone(base)
	for k, v := range over {
		a, ok1 := out[k].(map[string]any)
		b, ok2 := v.(map[string]any)
		if ok1 && ok2 {
			out[k] = overlay(a, b)
		} else {
			out[k] = copyTree(v)
		}
	}
	return out
}

// copyTree copies the objects and arrays of a decoded JSON value, so that merging
// one revision can't write into the bundle of another.
func copyTree(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = copyTree(e)
		}
		return m
	case []any:
		a := make([]any, len(v))
		for i, e := range v {
			a[i] = copyTree(e)
		}
		return a
	default:
		return v
	}
}
