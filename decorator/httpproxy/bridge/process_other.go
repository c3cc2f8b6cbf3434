//go:build !unix

package bridge

import "os/exec"

func apart(*exec.Cmd) {}

// terminate kills: there is no way to ask.
func terminate(cmd *exec.Cmd) { kill(cmd) }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
