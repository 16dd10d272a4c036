package workerhost

import (
	"context"
	"errors"
	"net/http"
	"time"
)

var errNotRunning = errors.New("the worker does not run")

// readyTimeout bounds all checks of one readiness request.
const readyTimeout = 3 * time.Second

// Check is one thing that has to be well for the process to be ready.
type Check struct {
	Name  string
	Check func(context.Context) error
}

// HealthHandler serves /healthz (the process lives), /readyz (every check passes; else 503 with the name of the first
// that does not) and /metrics.
func HealthHandler(metrics http.Handler, checks ...Check) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		for _, c := range checks {
			if c.Check(ctx) != nil {
				// The reason is in the log; here it could tell a stranger about the inside.
				say(w, http.StatusServiceUnavailable, "not ready: "+c.Name)
				return
			}
		}
		say(w, http.StatusOK, "ready")
	})
	mux.Handle("GET /metrics", metrics)
	return mux
}

func say(w http.ResponseWriter, status int, words string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(words + "\n"))
}
