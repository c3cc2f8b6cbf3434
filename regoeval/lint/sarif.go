package lint

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// The members of SARIF 2.1.0 that are written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     Severity        `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// WriteSARIF writes the report as a SARIF 2.1.0 log. version is the program's.
func (r Report) WriteSARIF(w io.Writer, version string) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "regogate", Version: version, Rules: []sarifRule{}}}, Results: []sarifResult{}}
	index := map[string]int{}
	for _, f := range r.Findings {
		i, known := index[f.ID]
		if !known {
			i = len(run.Tool.Driver.Rules)
			index[f.ID] = i
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{f.ID, sarifText{strings.ReplaceAll(f.ID, "-", " ")}})
		}
		text := f.Message
		if f.Tool != "" {
			text = fmt.Sprintf("tool %q: %s", f.Tool, text)
		}
		if f.Fix != "" {
			text += "; " + f.Fix
		}
		result := sarifResult{RuleID: f.ID, RuleIndex: i, Level: f.Severity, Message: sarifText{text}}
		if f.File != "" {
			p := sarifPhysical{Artifact: sarifArtifact{uri(f.File)}}
			if f.Line > 0 {
				p.Region = &sarifRegion{f.Line, max(f.Col, 1)}
			}
			result.Locations = []sarifLocation{{p}}
		}
		run.Results = append(run.Results, result)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// uri writes a path as a URI reference: relative where the path is.
func uri(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}
