// Package browser is a headless Chromium for tests that claim what a person sees.
package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

const (
	start = time.Minute
	// Within is how long a page may take to show what is claimed.
	Within = 3 * time.Minute
	// lookEvery leaves the browser time to work: each look has it lay the page out.
	lookEvery = 50 * time.Millisecond
)

// Browser is a Chromium with one tab, ended with the test.
type Browser struct {
	tb  testing.TB
	ctx context.Context //nolint:containedctx // chromedp's tab is its context
}

// New starts one.
func New(tb testing.TB) *Browser {
	tb.Helper()
	path, err := exec.LookPath("chromium")
	require.NoError(tb, err, "run `make tools`")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(tb.TempDir()),
		chromedp.WindowSize(1400, 1600), chromedp.WSURLReadTimeout(start),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("no-first-run", true))
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(tb.Context()), options...)
	tab, closeTab := chromedp.NewContext(allocator)
	tb.Cleanup(func() { closeTab(); stop() })
	_, err = chromedp.Run(tab, chromedp.Navigate("about:blank"))
	require.NoError(tb, err)
	return &Browser{tb: tb, ctx: tab}
}

// text is what a person can read on a page, frames included.
const text = `[document, ...[...document.querySelectorAll("iframe")].map(f => f.contentDocument)]
	.map(d => d?.body?.innerText ?? "").join("\n")`

// Open loads a page and waits until its visible text holds what is claimed; it returns the text.
func (b *Browser) Open(url, claim string, holds func(text string) bool) string {
	b.tb.Helper()
	run(b, chromedp.Navigate(url))
	return b.Await(claim, holds)
}

// Await waits until the page's visible text holds what is claimed; it returns the text.
func (b *Browser) Await(claim string, holds func(text string) bool) string {
	b.tb.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Within)
	defer cancel()
	var shown string
	var looked time.Time
	ok := testkit.Poll(b.tb, Within, func() bool {
		if time.Since(looked) < lookEvery {
			return ctx.Err() != nil
		}
		looked = time.Now()
		seen, err := chromedp.Run(ctx, chromedp.Evaluate[string](text))
		if err != nil {
			return ctx.Err() != nil
		}
		shown = seen
		return holds(shown)
	})
	if !ok || ctx.Err() != nil {
		b.Shoot("failed")
		b.tb.Fatalf("page does not show %s:\n%s", claim, shown)
	}
	return shown
}

// Click clicks the first element of a selector.
func (b *Browser) Click(selector string) {
	b.tb.Helper()
	run(b, chromedp.Click(selector))
}

// Fill gives a field its value.
func (b *Browser) Fill(selector, value string) {
	b.tb.Helper()
	run(b, chromedp.SetValue(selector, value))
}

// LogIn logs in with an API token on the page of the login.
func (b *Browser) LogIn(token string) {
	b.tb.Helper()
	b.Fill("#token", token)
	b.Click(`form[action="/login"] button[type="submit"]`)
}

// Shoot keeps a picture of the page for people to look at, in .cache/screenshots.
func (b *Browser) Shoot(name string) {
	b.tb.Helper()
	picture := run(b, chromedp.FullScreenshot(100))
	dir := filepath.Join(testkit.RepoRoot(b.tb), ".cache", "screenshots")
	require.NoError(b.tb, os.MkdirAll(dir, 0o755))
	require.NoError(b.tb, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600))
}

// run is a function, not a method: actions have types of their own.
func run[T any](b *Browser, action chromedp.Action[T]) T {
	b.tb.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Within)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	require.NoError(b.tb, err)
	return value
}
