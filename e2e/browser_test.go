package e2e_test

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
	browserStart = time.Minute
	pageTimeout  = time.Minute
)

// browser is a headless Chromium with one tab, ended with the test.
type browser struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp's tab is its context
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	require.NoError(t, err, "run `make tools`")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.WindowSize(1400, 1600), chromedp.WSURLReadTimeout(browserStart),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("no-first-run", true))
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	tab, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(func() { closeTab(); stop() })
	_, err = chromedp.Run(tab, chromedp.Navigate("about:blank"))
	require.NoError(t, err)
	return &browser{t: t, ctx: tab}
}

// pageText is what a person can read on a page, frames included.
const pageText = `[document, ...[...document.querySelectorAll("iframe")].map(f => f.contentDocument)]
	.map(d => d?.body?.innerText ?? "").join("\n")`

// open loads a page and waits until its visible text holds what is claimed; it returns the text.
func (b *browser) open(url, claim string, holds func(text string) bool) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTimeout)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Navigate(url))
	require.NoError(b.t, err)
	var text string
	ok := testkit.Poll(b.t, pageTimeout, func() bool {
		seen, err := chromedp.Run(ctx, chromedp.Evaluate[string](pageText))
		if err != nil {
			return ctx.Err() != nil
		}
		text = seen
		return holds(text)
	})
	if !ok || ctx.Err() != nil {
		b.shoot("failed")
		b.t.Fatalf("page does not show %s:\n%s", claim, text)
	}
	return text
}

// shoot keeps a picture of the page for people to look at, in .cache/screenshots.
func (b *browser) shoot(name string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTimeout)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	dir := filepath.Join(testkit.RepoRoot(b.t), ".cache", "screenshots")
	require.NoError(b.t, os.MkdirAll(dir, 0o755))
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600))
}
