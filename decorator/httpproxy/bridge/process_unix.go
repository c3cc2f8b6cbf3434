//go:build unix

package bridge

import (
	"os/exec"
	"syscall"
)

// apart gives a process a group of its own, so that what it started ends with it, and
// so that a terminal's interrupt reaches the gate alone, which ends it in good order.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks a process and its group to end.
func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends a process and its group. The group may outlive the process.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
