package simulator

import "sync"

// counter counts events by key and subject.
type counter struct {
	mu     sync.Mutex
	counts map[string]map[string]int
}

func (c *counter) add(key, subject string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = make(map[string]map[string]int)
	}
	if c.counts[key] == nil {
		c.counts[key] = make(map[string]int)
	}
	c.counts[key][subject]++
}

func (c *counter) of(key, subject string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[key][subject]
}

// total sums over all subjects.
func (c *counter) total(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := 0
	for _, n := range c.counts[key] {
		sum += n
	}
	return sum
}

// everything sums over all keys of one subject, or of all subjects when subject is empty.
func (c *counter) everything(subject string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := 0
	for _, bySubject := range c.counts {
		for name, n := range bySubject {
			if subject == "" || name == subject {
				sum += n
			}
		}
	}
	return sum
}
