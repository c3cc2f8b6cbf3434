//go:build unix

package inputschema

import (
	"syscall"
	"time"
)

// elapsed returns the processor time that this process has used. Unlike the time on
// the wall it doesn't depend on what else the machine does.
func elapsed() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
