package setup

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/decisionlog"
	"github.com/regogate/regogate/policy/decisionlog/upload"
)

// patience is how long the last records may take to be written when a command ends.
const patience = 5 * time.Second

// newDecisionLog starts the decision log that c asks for, nil when it asks for none. A
// recorder with a Logger lends it for what goes wrong with the log.
func newDecisionLog(c config.Config, recorder policy.Recorder) (*decisionlog.Log, error) {
	d := c.DecisionLog
	var logger *slog.Logger
	if r, ok := recorder.(interface{ Logger() *slog.Logger }); ok {
		logger = r.Logger()
	}
	o := decisionlog.Options{
		Arguments: decisionlog.Arguments(d.Arguments), Required: d.Required, Labels: map[string]string{},
		QueueBytes: d.QueueBytes, BufferBytes: d.BufferBytes, Logger: logger,
	}
	for _, l := range d.Labels {
		o.Labels[l.Name] = l.Value
	}
	sinks, err := decisionSinks(d, logger)
	if err == nil && len(sinks) == 0 {
		if d.Required {
			err = errors.New("decision_log.required: there is no decision log: name a file or a url, or set stderr")
		} else {
			return nil, nil
		}
	}
	if err == nil && d.KeyFile != "" {
		if o.Key, err = os.ReadFile(d.KeyFile); err != nil {
			err = errors.New("decision_log.key_file: " + d.KeyFile + ": " + pathless(err).Error())
		}
	}
	o.Sinks = sinks
	var log *decisionlog.Log
	if err == nil {
		log, err = decisionlog.New(o)
	}
	if err != nil {
		for _, s := range sinks {
			err = errors.Join(err, s.Close())
		}
		return nil, Attribute(c, err)
	}
	return log, nil
}

func decisionSinks(d config.DecisionLog, logger *slog.Logger) (sinks []decisionlog.Sink, err error) {
	if d.File != "" {
		f, err := decisionlog.NewFile(decisionlog.FileOptions{Path: d.File, MaxBytes: d.MaxBytes, Keep: d.Keep})
		if err != nil {
			return sinks, err
		}
		sinks = append(sinks, f)
	}
	if d.Stderr {
		sinks = append(sinks, decisionlog.NewWriter("standard error", os.Stderr))
	}
	if d.URL == "" {
		for key, v := range map[string]string{"token_file": d.TokenFile, "ca_file": d.CAFile} {
			if v != "" {
				return sinks, errors.New("decision_log." + key + ": there is no decision_log.url that it is for")
			}
		}
		return sinks, nil
	}
	u, err := upload.New(upload.Options{URL: d.URL, TokenFile: d.TokenFile, CAFile: d.CAFile, Logger: logger})
	if err != nil {
		return sinks, err
	}
	return append(sinks, u), nil
}

// Close writes down what the decision log still holds. The error says what was lost.
func (s *Setup) Close() error {
	if s == nil || s.Decisions == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Decisions.Close(ctx); err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}
