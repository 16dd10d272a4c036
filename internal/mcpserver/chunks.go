package mcpserver

import (
	"errors"
	"net/http"
	"time"
)

const (
	// writeTimeout bounds the writing of one chunk to a client that does not read.
	writeTimeout = time.Minute
	chunkBytes   = 64 << 10
)

var errCut = errors.New("the client does not read")

// writeAll writes an answer. A long one takes as long as its reader reads.
func writeAll(w http.ResponseWriter, control *http.ResponseController, data []byte) error {
	if len(data) <= chunkBytes {
		_, err := w.Write(data)
		return err
	}
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
	if err := writeChunks(w, control, data, func() bool { return false }); err != nil {
		return err
	}
	return control.Flush()
}

// writeChunks writes as long as the client reads on, and nobody has cut it off.
func writeChunks(w http.ResponseWriter, control *http.ResponseController, data []byte, cut func() bool) error {
	for len(data) > 0 {
		if cut() {
			return errCut
		}
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer has one
		n, err := w.Write(data[:min(chunkBytes, len(data))])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
