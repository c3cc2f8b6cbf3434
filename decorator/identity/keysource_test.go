package identity

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func jsonOf(v any) ([]byte, error) { return json.Marshal(v) }

func tokenBy(kid string, sign signer) *http.Request {
	claims := goodClaims().with("exp", now.Add(100*time.Hour).Unix())
	return request("Bearer " + mint(goodHeader().with("kid", kid), claims, sign))
}

func status(err error) int {
	if refused, ok := err.(*Error); ok {
		return refused.StatusCode()
	}
	return 0
}

// A key that an issuer has begun to use is fetched when a token names it, and one that
// it has stopped to use is no longer good once the keys were fetched again.
func TestKeyRotation(t *testing.T) {
	issuer, c := newIssuer(t, keySet(public(&rsaKey().PublicKey, "r1"))), &clock{at: now}
	o := goodOptions(issuer.URL)
	o.Now = c.now
	j := newJWT(t, o)
	before, after := tokenBy("r1", rs256(rsaKey())), tokenBy("r2", rs256(otherRSAKey()))
	_, err := j.Caller(before)
	require.NoError(t, err)
	issuer.answer(200, keySet(public(&otherRSAKey().PublicKey, "r2")))
	_, err = j.Caller(after)
	require.NoError(t, err)
	require.Equal(t, 2, issuer.count())
	_, err = j.Caller(before)
	require.Equal(t, 401, status(err))
}

// Tokens with made-up keys make the gate fetch keys once in ten seconds, and no token
// of anybody else waits for that.
func TestUnknownKeysAreAskedForSeldom(t *testing.T) {
	issuer, c := newIssuer(t, keySet(public(&rsaKey().PublicKey, "r1"))), &clock{at: now}
	o := goodOptions(issuer.URL)
	o.Now = c.now
	j := newJWT(t, o)
	for range 50 {
		_, err := j.Caller(tokenBy("made-up", rs256(otherRSAKey())))
		require.Equal(t, 401, status(err))
	}
	require.Equal(t, 2, issuer.count())
	c.pass(unknownKeyWait)
	_, err := j.Caller(tokenBy("made-up", rs256(otherRSAKey())))
	require.Equal(t, 401, status(err))
	require.Equal(t, 3, issuer.count())
}

// While the issuer is down the keys stay good for a while, and it is asked less and less
// often; then nobody is let in, until it is back.
func TestIssuerGoesDown(t *testing.T) {
	issuer, c := newIssuer(t, keySet(public(&rsaKey().PublicKey, "r1"))), &clock{at: now}
	o := goodOptions(issuer.URL)
	o.Now = c.now
	j := newJWT(t, o)
	ask := func() error {
		_, err := j.Caller(tokenBy("r1", rs256(rsaKey())))
		j.keys.wg.Wait() // for a fetch beside the request
		return err
	}
	issuer.answer(500, "sorry")
	c.pass(defaultLife + time.Second)
	require.NoError(t, ask())
	require.Equal(t, 2, issuer.count())
	require.NoError(t, ask())
	require.Equal(t, 2, issuer.count(), "asked again without a pause")
	c.pass(firstBackOff)
	require.NoError(t, ask())
	c.pass(firstBackOff)
	require.NoError(t, ask())
	require.Equal(t, 3, issuer.count(), "the pause didn't grow")
	require.NoError(t, j.Ready())
	c.pass(defaultMaxStale)
	err := ask()
	require.Equal(t, 503, status(err))
	require.Empty(t, err.(*Error).Challenge())
	require.ErrorContains(t, j.Ready(), "the answer is 500")
	issuer.answer(200, keySet(public(&rsaKey().PublicKey, "r1")))
	c.pass(lastBackOff)
	require.NoError(t, ask())
	require.NoError(t, j.Ready())
}

// A set that can't be used doesn't replace one that can.
func TestBrokenKeysReplaceNothing(t *testing.T) {
	file, c := filepath.Join(t.TempDir(), "keys.json"), &clock{at: now}
	require.NoError(t, os.WriteFile(file, []byte(keySet(public(&rsaKey().PublicKey, "r1"))), 0o600))
	o := goodOptions("")
	o.KeysFile, o.Now = file, c.now
	j := newJWT(t, o)
	require.NoError(t, os.WriteFile(file, []byte(`{"keys":[`), 0o600))
	for range 3 {
		c.pass(time.Minute)
		_, err := j.Caller(tokenBy("r1", rs256(rsaKey())))
		require.NoError(t, err)
	}
	require.NoError(t, os.WriteFile(file, []byte(keySet(public(&otherRSAKey().PublicKey, "r2"))), 0o600))
	c.pass(time.Minute)
	_, err := j.Caller(tokenBy("r2", rs256(otherRSAKey())))
	require.NoError(t, err)
	_, err = j.Caller(tokenBy("r1", rs256(rsaKey())))
	require.Equal(t, 401, status(err))
}

func TestIssuerDownAtStart(t *testing.T) {
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	redirect := httptest.NewServer(http.RedirectHandler(newIssuer(t, everyKey()).URL, http.StatusFound))
	defer redirect.Close()
	for url, want := range map[string]string{
		down.URL:     "keys_url: keys at " + down.URL + ": ",
		redirect.URL: "the answer is 302",
	} {
		_, err := NewJWT(context.Background(), goodOptions(url))
		require.ErrorContains(t, err, want)
	}
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hanging.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := NewJWT(ctx, goodOptions(hanging.URL))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// A request whose client has gone doesn't wait for keys, and Close doesn't either.
func TestNobodyWaitsForKeysForEver(t *testing.T) {
	issuer := newIssuer(t, keySet(public(&rsaKey().PublicKey, "r1")))
	j := newJWT(t, goodOptions(issuer.URL))
	j.keys.fetch = func(ctx context.Context) ([]verificationKey, time.Duration, error) {
		<-ctx.Done()
		return nil, 0, ctx.Err()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := j.Caller(tokenBy("r2", rs256(otherRSAKey())).WithContext(ctx))
	require.Equal(t, 503, status(err))
	_, err = j.Caller(tokenBy("r1", rs256(rsaKey())))
	require.NoError(t, err)
	j.Close()
}

func TestLife(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"":                         defaultLife,
		"max-age=1":                minLife,
		"public, Max-Age=600":      10 * time.Minute,
		`max-age="120"`:            2 * time.Minute,
		"max-age=99999999999":      defaultLife,
		"max-age=31536000":         maxLife,
		"no-store":                 minLife,
		"must-revalidate, max-age": defaultLife,
	} {
		require.Equal(t, want, life(http.Header{"Cache-Control": {value}}), value)
	}
}
