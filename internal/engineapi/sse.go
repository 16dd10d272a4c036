package engineapi

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	// maxEvent is the size, in bytes, of a line and of an event's data above which the event is skipped.
	maxEvent = 1 << 20
	// maxSkipped is how much of one oversized line is read past before the stream is given up.
	maxSkipped = 64 << 20

	readBuffer = 64 << 10
)

var errEndlessLine = fmt.Errorf("a line exceeds %d bytes", maxSkipped)

// sseReader cuts a text/event-stream into the data of its events. Only data matters here: this engine sends no event
// names, ids or retry times.
type sseReader struct {
	lines *bufio.Reader

	skipped int64
}

func newSSEReader(r io.Reader) *sseReader {
	return &sseReader{lines: bufio.NewReaderSize(r, readBuffer)}
}

// next returns the data of the next event. Events over [maxEvent] are skipped and counted: what is that large is the
// text of a conversation, never news of a connection. An event cut off by the end of the stream is dropped.
func (s *sseReader) next() ([]byte, error) {
	var data []byte
	oversized, some := false, false
	for {
		line, fits, err := s.line()
		switch {
		case err != nil:
			return nil, err
		case !fits:
			oversized = true
		case len(line) == 0 && oversized:
			s.skipped++
			data, oversized, some = nil, false, false
		case len(line) == 0 && some:
			return data, nil
		default:
			value, ok := bytes.CutPrefix(line, []byte("data:"))
			if !ok || oversized {
				continue
			}
			data, some = appendData(data, value, some), true
			oversized = len(data) > maxEvent
		}
	}
}

// takeSkipped returns how many events were skipped since it was last called.
func (s *sseReader) takeSkipped() int64 {
	n := s.skipped
	s.skipped = 0
	return n
}

func appendData(data, value []byte, more bool) []byte {
	if more {
		data = append(data, '\n')
	}
	return append(data, bytes.TrimPrefix(value, []byte(" "))...)
}

// line returns the next line without its end, or fits = false for one that was too long and has been read past.
func (s *sseReader) line() (line []byte, fits bool, err error) {
	total := 0
	for {
		part, err := s.lines.ReadSlice('\n')
		total += len(part)
		if total <= maxEvent {
			line = append(line, part...)
		}
		switch {
		case err == nil && total > maxEvent:
			return nil, false, nil
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), true, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		case total > maxSkipped:
			return nil, false, errEndlessLine
		}
	}
}
