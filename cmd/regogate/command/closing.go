package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/cmd/regogate/internal/setup"
)

// closing writes down the last decisions of a command that ends with err.
func closing(c *cobra.Command, s *setup.Setup, err error) error {
	if lost := s.Close(); lost != nil {
		fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", c.Name(), oneLine(lost.Error()))
		if err == nil {
			return exit(failed)
		}
	}
	return err
}
