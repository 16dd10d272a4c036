package web_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

const within = 2 * time.Minute

// tab is a tab of a browser that knows nothing of other tests. What its console complains of fails the test: a violation of the
// content security policy, an error of the script, something that is not there.
type tab struct {
	r   *rig
	ctx context.Context //nolint:containedctx // chromedp's tab is its context

	mu         sync.Mutex
	complaints []string
}

func (r *rig) browser() *tab {
	r.t.Helper()
	require.NoError(r.t, one.err, "run `make tools`")
	return r.tab(one.ctx, chromedp.WithNewBrowserContext())
}

func (r *rig) tab(parent context.Context, options ...chromedp.ContextOption) *tab {
	r.t.Helper()
	b := &tab{r: r}
	options = append(options, chromedp.WithListener(b.listen))
	ctx, end := chromedp.NewContext(parent, options...)
	_, err := chromedp.Run(ctx, chromedp.Navigate("about:blank")) // the tab lives as long as this context
	require.NoError(r.t, err)
	limited, cancel := context.WithTimeout(ctx, 5*time.Minute)
	b.ctx = limited
	r.t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		cancel()
		end()
		require.Empty(r.t, b.complaints)
	})
	return b
}

// second is another tab of the same browser, with the same login.
func (b *tab) second() *tab {
	b.r.t.Helper()
	return b.r.tab(b.ctx)
}

func (b *tab) listen(event any) {
	said := ""
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning || e.Entry.Source == log.EntrySourceSecurity {
			said = e.Entry.Text + " " + e.Entry.URL
		}
	case *runtime.EventExceptionThrown:
		said = e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		said = "console." + string(e.Type)
	}
	// Statuses are what the tests ask for; a stream ends with its page.
	if said == "" || strings.Contains(said, "the server responded with a status of") || strings.Contains(said, "ERR_INCOMPLETE_CHUNKED_ENCODING") {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, said)
}

func run[T any](b *tab, action chromedp.Action[T]) T {
	b.r.t.Helper()
	value, err := chromedp.Run(b.ctx, action)
	require.NoError(b.r.t, err)
	return value
}

// open loads a page. Another page may follow by itself.
func (b *tab) open(path string) *tab {
	b.r.t.Helper()
	run(b, chromedp.Navigate(b.r.server.URL+path))
	return b
}

// sees waits until the visible text of the page has all of the texts.
func (b *tab) sees(texts ...string) *tab {
	b.r.t.Helper()
	b.waits(func(shown string) bool {
		for _, each := range texts {
			if !strings.Contains(shown, each) {
				return false
			}
		}
		return true
	}, "the page shows "+strings.Join(texts, " | "))
	return b
}

// sees not waits until the page does not show a text.
func (b *tab) misses(text string) *tab {
	b.r.t.Helper()
	b.waits(func(shown string) bool { return !strings.Contains(shown, text) }, "the page does not show "+text)
	return b
}

func (b *tab) waits(holds func(shown string) bool, claim string) {
	b.r.t.Helper()
	shown := ""
	if !testkit.Poll(b.r.t, within, func() bool {
		seen, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ""`))
		if err == nil {
			shown = seen
		}
		return err == nil && holds(seen)
	}) {
		b.shoot("failed-" + b.r.t.Name())
		b.r.t.Fatalf("not within %s: %s\n%s", within, claim, shown)
	}
}

// has reports whether the page has an element.
func (b *tab) has(selector string) bool {
	b.r.t.Helper()
	return run(b, chromedp.Evaluate[bool](`document.querySelector(`+"`"+selector+"`"+`) !== null`))
}

func (b *tab) click(selector string) *tab {
	b.r.t.Helper()
	run(b, chromedp.Click(selector))
	return b
}

func (b *tab) fill(selector, text string) *tab {
	b.r.t.Helper()
	run(b, chromedp.SetValue(selector, text))
	return b
}

func (b *tab) press(keys string) *tab {
	b.r.t.Helper()
	run(b, chromedp.KeyEvent(keys))
	return b
}

// login logs in by the identity provider, at the page that is asked for.
func (b *tab) login(user, path string) *tab {
	b.r.t.Helper()
	b.open(path).sees("Log in with 127.0.0.1").click(`a[href^="/login/oidc"]`).sees("Who are you?")
	return b.click(`a[href*="user=` + user + `"]`)
}

// shoot keeps a picture of the page for people to look at.
func (b *tab) shoot(name string) *tab {
	b.r.t.Helper()
	picture := run(b, chromedp.FullScreenshot(100))
	dir := os.Getenv("HOLDFAST_SCREENSHOTS")
	if dir == "" {
		dir = filepath.Join(testkit.RepoRoot(b.r.t), ".cache", "screenshots")
	}
	require.NoError(b.r.t, os.MkdirAll(dir, 0o755))
	require.NoError(b.r.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600))
	return b
}

// fits reports whether the page is no wider than the screen.
func (b *tab) fits() bool {
	return run(b, chromedp.Evaluate[bool](`document.documentElement.scrollWidth <= document.documentElement.clientWidth`))
}

// inSight waits until the screen shows an element.
func (b *tab) inSight(selector string) {
	b.r.t.Helper()
	testkit.Eventually(b.r.t, within, func() bool {
		return run(b, chromedp.Evaluate[bool]("(() => { const at = document.querySelector(`"+selector+"`).getBoundingClientRect();"+
			"return at.top >= 0 && at.bottom <= innerHeight })()"))
	}, selector+" is in sight")
}
