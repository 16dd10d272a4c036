package temporalclient

import "sync"

// tail keeps the last bytes written to it, for an error that shows what a child process said before it ended.
type tail struct {
	limit int

	mu   sync.Mutex
	data []byte
}

func newTail(limit int) *tail { return &tail{limit: limit} }

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - t.limit; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}
