package closures

// What a statement came to. A number above undefined leaves that many blocks less one.
const (
	next      = 0
	undefined = 1
	enough    = -1      // of an iteration: nothing more can change
	stop      = 1 << 20 // the function returns, or the evaluation has ended
)

type statement func(f *frame) int

type block []statement

func (b block) run(f *frame) int {
	for _, s := range b {
		if r := s(f); r != next {
			return r
		}
	}
	return next
}

// left turns what a nested block came to into what the statement that holds it does.
func left(r int) int {
	switch {
	case r >= stop:
		return r
	case r <= undefined:
		return next
	}
	return r - 1
}

func (fn *function) run(f *frame) {
	if fn.dispatch != nil {
		fn.dispatch.run(fn, f)
		return
	}
	fn.runAll(f)
}

func (fn *function) runAll(f *frame) {
	for _, b := range fn.blocks {
		if r := b.run(f); r > undefined {
			return
		}
	}
}

func never(*frame) int { return undefined }
