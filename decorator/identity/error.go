package identity

import (
	"net/http"
	"strings"
)

// An Error says why it can't be told who makes a request, and how to answer it. Its
// text is fixed: it repeats nothing of the request, and may be logged and shown.
type Error struct {
	status    int
	message   string
	challenge string
	cause     error
}

// Error implements error. It has the cause of the operator's own troubles in it (that
// keys can't be fetched), and of the request nothing.
func (e *Error) Error() string {
	if e.cause != nil {
		return "identity: " + e.message + ": " + e.cause.Error()
	}
	return "identity: " + e.message
}

// Unwrap returns the cause, nil when there is none.
func (e *Error) Unwrap() error { return e.cause }

// Public is what the client may be told.
func (e *Error) Public() string { return e.message }

// StatusCode is the status to answer the request with: 400, 401, 403 or 503.
func (e *Error) StatusCode() int { return e.status }

// Challenge is the value of the WWW-Authenticate header of that answer, "" for none.
func (e *Error) Challenge() string { return e.challenge }

// The error codes of RFC 6750.
const (
	invalidRequest    = "invalid_request"
	invalidToken      = "invalid_token"
	insufficientScope = "insufficient_scope"
)

var statusOf = map[string]int{
	"":                http.StatusUnauthorized, // nothing was presented
	invalidRequest:    http.StatusBadRequest,
	invalidToken:      http.StatusUnauthorized,
	insufficientScope: http.StatusForbidden,
}

// A challenger makes errors that tell a client how to do better.
type challenger struct {
	metadata string // URL of the protected-resource metadata; "" for none
	scope    string // what is asked for, space-separated
}

// refuse returns the error with one of the codes above. message is one of this
// package's own texts and has no quotes or backslashes in it.
func (c challenger) refuse(code, message string) *Error {
	params := []string{}
	add := func(name, value string) {
		if value != "" {
			params = append(params, name+`="`+value+`"`)
		}
	}
	add("error", code)
	if code != "" {
		add("error_description", message)
	}
	add("scope", c.scope)
	add("resource_metadata", c.metadata)
	challenge := "Bearer"
	if len(params) > 0 {
		challenge += " " + strings.Join(params, ", ")
	}
	return &Error{status: statusOf[code], message: message, challenge: challenge}
}

// unavailable is the error of a gate that can't check anybody right now.
func unavailable(message string, cause error) *Error {
	return &Error{status: http.StatusServiceUnavailable, message: message, cause: cause}
}
