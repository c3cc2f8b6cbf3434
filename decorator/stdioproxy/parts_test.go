package stdioproxy

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

func TestLineReader(t *testing.T) {
	const buffer = readBuffer
	for _, length := range []int{0, 1, 10, buffer - 1, buffer, buffer + 1, 3 * buffer, 10 * buffer} {
		for _, ending := range []string{"\n", "\r\n", ""} {
			line := strings.Repeat("x", length) + ending
			l := newLineReader(iotest.HalfReader(strings.NewReader("first\n"+line)), 4*buffer)
			got, end, err := l.next()
			require.NoError(t, err)
			require.True(t, end)
			require.Equal(t, "first\n", string(got))
			var all []byte
			for end = false; !end; {
				got, end, err = l.next()
				all = append(all, got...)
				require.LessOrEqual(t, len(got), 5*buffer, "pieces must be bounded")
			}
			require.Equal(t, line, string(all))
			if ending == "" {
				require.ErrorIs(t, err, io.EOF)
			}
		}
	}
}

func TestLineWriter(t *testing.T) {
	var b bytes.Buffer
	w := &lineWriter{w: &b}
	require.NoError(t, w.message([]byte("own")))
	require.NoError(t, w.forward([]byte("theirs\r\n")))
	require.NoError(t, w.forward([]byte("no ending")))
	require.NoError(t, w.message([]byte("own")))
	pieces := []string{"b", "c\n"}
	require.NoError(t, w.stream([]byte("a"), func() ([]byte, bool, error) {
		p := pieces[0]
		pieces = pieces[1:]
		return []byte(p), len(pieces) == 0, nil
	}))
	require.NoError(t, w.message([]byte("own")))
	require.Equal(t, "own\ntheirs\r\nno ending\nown\nabc\nown\n", b.String())
	w.close()
	require.Error(t, w.message([]byte("late")))
	require.NotContains(t, b.String(), "late")

	w = &lineWriter{w: iotest.TruncateWriter(failing{}, 0)}
	require.NoError(t, w.forward(nil))
	w = &lineWriter{w: failing{}}
	require.Error(t, w.forward([]byte("x\n")))
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("broken") }

func newItem(t *testing.T, line string) *item {
	t.Helper()
	m, fault := mcpwire.Read([]byte(line), mcpwire.Limits{})
	require.Nil(t, fault)
	return &item{line: []byte(line), message: m, gone: make(chan struct{})}
}

const (
	pingLine = `{"jsonrpc":"2.0","id":"p","method":"ping"}`
	toolLine = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`
)

// While the server is only slow, the client is slowed down, and nothing is refused.
func TestQueuePushesBack(t *testing.T) {
	q := newQueue(Hold{Calls: 1, Bytes: 1 << 20})
	first := newItem(t, toolLine)
	require.True(t, q.add(first))
	require.False(t, q.idle())
	added := make(chan bool)
	go func() { added <- q.add(newItem(t, toolLine)) }()
	select {
	case <-added:
		require.Fail(t, "there was no room")
	case <-time.After(50 * time.Millisecond):
	}
	require.Same(t, first, q.head())
	require.True(t, q.take(first))
	require.True(t, <-added)

	go func() { added <- q.add(newItem(t, toolLine)) }()
	q.wait(true)
	require.False(t, <-added, "while the tools are waited for, one too many is refused")
	q.drop()
	require.Nil(t, q.head())
	require.False(t, q.idle())
	require.True(t, q.add(newItem(t, toolLine)), "after the end there is nothing to refuse")
}

func TestQueueAndLargeMessages(t *testing.T) {
	q := newQueue(Hold{Calls: 9, Bytes: 100})
	require.False(t, q.add(newItem(t, toolLine)), "a call larger than all that may wait")
	large := newItem(t, pingLine)
	require.True(t, q.add(large), "on its way to a slow server")
	require.True(t, q.take(q.head()))
	q.processed()
	require.True(t, q.idle())
	q.wait(true)
	require.False(t, q.add(newItem(t, pingLine)))
}

func TestQueueCancel(t *testing.T) {
	q := newQueue(Hold{Calls: 9, Bytes: 1 << 20})
	call, ping := newItem(t, toolLine), newItem(t, pingLine)
	require.True(t, q.add(call))
	require.True(t, q.add(ping))
	handled, later := q.cancel("n2")
	require.False(t, handled || later)
	handled, _ = q.cancel("n1")
	require.True(t, handled)
	<-call.gone
	require.False(t, q.take(call), "what is gone can't be taken")
	require.Same(t, ping, q.head())
	require.True(t, q.take(ping))
	handled, later = q.cancel("sp")
	require.False(t, handled)
	require.True(t, later, "its request is being processed: the cancellation comes after it")
	q.processed()
	handled, later = q.cancel("sp")
	require.False(t, handled || later)
	handled, later = q.cancel("")
	require.False(t, handled || later)
	require.Zero(t, q.bytes)
	require.Zero(t, q.calls)
	q.close()
	require.Nil(t, q.head())
}
