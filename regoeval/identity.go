package regoeval

import "github.com/open-policy-agent/opa/v1/bundle"

// RevisionOf names a bundle's content: the revision of its manifest, or a digest of
// the content where it has none. Whether the content can be put in force is for [New].
func RevisionOf(b bundle.Bundle) string { return revisionOf(b) }

// SequenceOf is metadata.regogate.sequence, nil when a manifest has none.
func SequenceOf(m bundle.Manifest) (*int64, error) {
	md, err := readMetadata(m)
	if err != nil {
		return nil, err
	}
	return md.Sequence, nil
}
