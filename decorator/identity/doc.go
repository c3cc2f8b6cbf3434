// Package identity finds out who makes an HTTP request, for the policy to know.
//
// [JWT] takes the caller from a signed token in the Authorization header, [Headers]
// from headers that a trusted reverse proxy sets, and [Environment] from environment
// variables, for a server without requests. What they return goes into the context by
// [policy.WithCaller]. Whatever can't be established is an error, an [*Error], which
// says how to answer the request; there is no anonymous caller by mistake.
//
// A token is accepted when it is one compact JWS whose header names one of the
// configured algorithms, whose signature one of the issuer's keys verifies, whose
// issuer and audience are the configured ones and whose time has come and not passed.
// Keys come from the configured file or URL and never from the token: what a token
// says in jku, x5u, jwk or x5c isn't looked at, and its kid only picks one of the known
// keys. Only asymmetric algorithms exist here, and each key works with the algorithms
// of its own type, so that no public key is ever taken for a shared secret.
//
// [Resource] is the other half: it tells clients where to get a token (RFC 9728), and
// keeps what the server behind the gate says about that consistent with it.
//
// No error and no log line has a token, or a part of one, in it.
//
// # Limits
//
// Tokens that are encrypted, opaque (to be introspected), or bound to a key of the
// client (cnf: DPoP, mutual TLS) are refused. A token that its issuer revokes is good
// until it expires. A key that an issuer withdraws is good until the keys are fetched
// again, after at most an hour, unless the issuer can't be reached: then for as long as
// [JWTOptions.MaxStale]. Redirects are not followed when keys are fetched, and proxy
// settings in the environment are not read.
package identity
