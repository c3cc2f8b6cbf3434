package strictjson

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The digits are compared as ParseFloat rounds: around both edges, and wherever the
// point stands.
func TestEdgesOfBinary64(t *testing.T) {
	same := func(literal string) {
		f, err := strconv.ParseFloat(literal, 64)
		require.Equal(t, err == nil && !math.IsInf(f, 0) && f != 0, inRange([]byte(literal)), literal)
	}
	half := new(big.Float).SetPrec(2000).SetMantExp(big.NewFloat(1), -1075)
	top := new(big.Float).SetPrec(2000).SetMantExp(big.NewFloat(1), 1024)
	top.Sub(top, new(big.Float).SetMantExp(big.NewFloat(1), 970))
	for _, edge := range []*big.Float{half, top} {
		for _, digits := range []int{1, 2, 5, 16, 17, 30, 60, 78, 79, 80, 81, 100, 400, 800} {
			same(edge.Text('e', digits))
		}
	}
	for _, s := range []string{"5e-324", "4e-324", "3e-324", "2.5e-324", "2.4e-324", "2e-324", "1e-323", "9e-324", "0.5e-323", "0.00005e-319", "50e-325",
		"1e308", "1.7e308", "1.8e308", "0.17e309", "17e307", "179769313486231570e291", "179769313486231580e291", "1e309", "-1.7976931348623157e308", "-1.7976931348623159e308", "10e307", "100e307"} {
		same(s)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		digits := strconv.FormatUint(r.Uint64N(1_000_000_000_000_000_000), 10)
		if p := r.IntN(len(digits)); p > 0 {
			digits = digits[:p] + "." + digits[p:]
		}
		if strings.Trim(digits, "0.") == "" || len(digits) > 1 && digits[0] == '0' && digits[1] != '.' {
			continue
		}
		edge := []int{308, -324}[r.IntN(2)]
		same(digits + "e" + strconv.Itoa(edge-r.IntN(24)+2))
	}
}

// A megabyte of numbers at the edge is read as fast as any other.
func TestManyNumbersAtTheEdge(t *testing.T) {
	for _, n := range []string{"5e-324", "2.470328229206232720882843e-324", "1.797693134862315807937e308"} {
		text := "[" + strings.Repeat(n+",", 1_000_000/(len(n)+1)-1) + n + "]"
		start := time.Now()
		_, _ = Parse([]byte(text), Limits{})
		require.Less(t, time.Since(start), 3*time.Second, n)
	}
}
