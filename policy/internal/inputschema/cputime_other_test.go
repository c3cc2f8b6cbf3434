//go:build !unix

package inputschema

import "time"

var began = time.Now()

// elapsed returns the time since the tests began.
func elapsed() time.Duration { return time.Since(began) }
