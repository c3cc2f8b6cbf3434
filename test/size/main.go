// Command size measures what the gate adds to a program: it builds a small MCP server
// without it and with it, and prints the sizes of the binaries as a table for
// docs/size.md. Run it in the repository:
//
//	go run ./test/size
//
// # Limits
//
// It measures the platform that it runs on, with the Go that builds it.
package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// programs are folders below testdata, from nothing to everything.
var programs = []struct{ folder, what string }{
	{"server", "an MCP server with one tool, go-sdk"},
	{"gate", "with a gate and a validator in Go"},
	{"rego", "with a gate and a bundle of Rego"},
}

func main() {
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(2)
	}
}

func measure() error {
	dir, err := os.MkdirTemp("", "regogate-size-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("%s, %s/%s\n\n| | MB | added | stripped (-s -w) | added |\n|---|--:|--:|--:|--:|\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	var first [2]float64
	for i, p := range programs {
		var mb [2]float64
		for j, flags := range []string{"", "-s -w"} {
			if mb[j], err = build(dir, p.folder, flags); err != nil {
				return fmt.Errorf("%s: %w", p.folder, err)
			}
		}
		if i == 0 {
			first = mb
			fmt.Printf("| %s | %.2f | | %.2f | |\n", p.what, mb[0], mb[1])
			continue
		}
		fmt.Printf("| %s | %.2f | %.2f | %.2f | %.2f |\n", p.what, mb[0], mb[0]-first[0], mb[1], mb[1]-first[1])
	}
	return nil
}

// build builds one program and returns the size of its binary in megabytes (10^6 bytes),
// rounded to what is printed.
func build(dir, folder, ldflags string) (float64, error) {
	binary := filepath.Join(dir, folder)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", ldflags, "-o", binary, "./test/size/testdata/"+folder)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("go build, in the repository's root: %w", err)
	}
	info, err := os.Stat(binary)
	if err != nil {
		return 0, err
	}
	return math.Round(float64(info.Size())/1e4) / 100, nil
}
